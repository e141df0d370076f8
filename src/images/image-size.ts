export interface ImageHeader {
  type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/avif';
  width: number;
  height: number;
  /** The file goes on to its end, as far as its structure tells. */
  whole: boolean;
  /** Why it must not be decoded, as a phrase that follows its name. */
  fault?: string;
}

/** Reads a header; null: the file has another type. @throws RangeError where the file is cut off */
export type ImageReader = (view: DataView) => ImageHeader | null;

/** Chunks, frames, boxes, units and extents of one file. An image has a few, an animation some thousands. */
const MAX_PARTS = 100_000;

/** The largest width and the largest height of an image's parts. */
export class ImageSize {
  readonly largest = { width: 0, height: 0 };
  #parts = 0;

  /** @throws RangeError past the bound of parts */
  add(width: number, height: number): void {
    this.count();
    this.largest.width = Math.max(this.largest.width, width);
    this.largest.height = Math.max(this.largest.height, height);
  }

  /** Counts a part without a size. @throws RangeError past the bound */
  count(parts = 1): void {
    this.#parts += parts;
    if (this.#parts > MAX_PARTS) throw new RangeError('more parts than an image has');
  }
}

/** Characters at a position; fewer where the file ends. */
export const textAt = (view: DataView, at: number, length: number): string =>
  String.fromCharCode(
    ...new Uint8Array(view.buffer, view.byteOffset, view.byteLength).subarray(at, at + length),
  );
