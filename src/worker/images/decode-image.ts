/** Of the longer side. Models take less, or cut it into tiles; SmolVLM takes this. */
const MAX_SIDE = 2048;

/** An image as llama.cpp takes it. */
export interface ModelImage {
  /** Portable pixmap: pixels without compression. */
  file: Uint8Array<ArrayBuffer>;
  /** Of the file, in hex: two images that differ never have the same. */
  digest: string;
}

/** @throws what the browser throws for an image that it cannot decode */
export async function decodeToPixmap(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<ModelImage> {
  const { canvas, context } = await draw(bytes, type);
  const file = toPixmap(context.getImageData(0, 0, canvas.width, canvas.height));
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', file));
  return { file, digest: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') };
}

/** @throws what the browser throws for an image that it cannot decode */
export async function decodeToBitmap(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<ImageBitmap> {
  return (await draw(bytes, type)).canvas.transferToImageBitmap();
}

interface Drawn {
  canvas: OffscreenCanvas;
  context: OffscreenCanvasRenderingContext2D;
}

/** The first frame, turned as its EXIF says, no larger than models take, on white where it is transparent. */
async function draw(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<Drawn> {
  const bitmap = await createImageBitmap(new Blob([bytes], { type }));
  try {
    const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
    const width = Math.max(1, Math.round(bitmap.width * scale));
    const height = Math.max(1, Math.round(bitmap.height * scale));
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (!context) throw new Error('this browser has no canvas in workers');
    context.fillStyle = '#fff';
    context.fillRect(0, 0, width, height);
    context.imageSmoothingQuality = 'high';
    context.drawImage(bitmap, 0, 0, width, height);
    return { canvas, context };
  } finally {
    bitmap.close();
  }
}

function toPixmap({ data, width, height }: ImageData): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`P6\n${width} ${height}\n255\n`);
  const file = new Uint8Array(head.length + width * height * 3);
  file.set(head);
  for (let from = 0, to = head.length; from < data.length; from += 4, to += 3) {
    file[to] = data[from] ?? 0;
    file[to + 1] = data[from + 1] ?? 0;
    file[to + 2] = data[from + 2] ?? 0;
  }
  return file;
}
