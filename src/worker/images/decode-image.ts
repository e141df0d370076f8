/** Of the longer side. Models take less, or cut it into tiles; SmolVLM takes this. */
const MAX_SIDE = 2048;

/**
 * The first frame, turned as its EXIF says, no larger than models take, on white where it is transparent: as a portable pixmap.
 * @throws what the browser throws for an image that it cannot decode
 */
export async function decodeImage(
  bytes: Uint8Array<ArrayBuffer>,
  type: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const bitmap = await createImageBitmap(new Blob([bytes], { type }));
  try {
    const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
    const width = Math.max(1, Math.round(bitmap.width * scale));
    const height = Math.max(1, Math.round(bitmap.height * scale));
    const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    if (!context) throw new Error('this browser has no canvas in workers');
    context.fillStyle = '#fff';
    context.fillRect(0, 0, width, height);
    context.imageSmoothingQuality = 'high';
    context.drawImage(bitmap, 0, 0, width, height);
    return toPixmap(context.getImageData(0, 0, width, height));
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
