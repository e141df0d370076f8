export interface ImageHeader {
  type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  width: number;
  height: number;
  /** Whether the file is complete, judging by its structure. */
  whole: boolean;
  /** Why the image must not be decoded, as a phrase that follows its name. */
  fault?: string;
}

/** Reads a header; null if the file has another type. @throws RangeError if the file is truncated */
export type ImageReader = (view: DataView) => ImageHeader | null;

/** Maximum number of chunks and frames. An image has a few, an animation some thousands. */
const MAX_PARTS = 100_000;

/** Tracks the maximum width and the maximum height of an image's parts. */
export class ImageSize {
  readonly largest = { width: 0, height: 0 };
  #parts = 0;

  /** Adds a part's size. @throws RangeError if there are too many parts */
  add(width: number, height: number): void {
    this.count();
    this.largest.width = Math.max(this.largest.width, width);
    this.largest.height = Math.max(this.largest.height, height);
  }

  /** Counts a part. @throws RangeError if there are too many parts */
  count(): void {
    this.#parts++;
    if (this.#parts > MAX_PARTS) throw new RangeError('more parts than an image has');
  }
}

/** Reads text at a position; shorter if the file ends. */
export const textAt = (view: DataView, at: number, length: number): string =>
  String.fromCharCode(
    ...new Uint8Array(view.buffer, view.byteOffset, view.byteLength).subarray(at, at + length),
  );
