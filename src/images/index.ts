export { IMAGE_TOO_LARGE, ImageError, MAX_IMAGE_BYTES, checkImage } from './check-image.ts';
export { checkReads, decodeImage, drawImage, toPixmap, type ModelImage } from './draw-image.ts';
