export { IMAGE_TOO_LARGE, ImageError, MAX_IMAGE_BYTES, checkImage } from './check-image.ts';
export { decodeImage, drawImage, toPixmap, type ModelImage } from './draw-image.ts';
