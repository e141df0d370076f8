import type { ModelImage } from '../../images/draw-image.ts';
import { requestError, unsupported } from '../../errors/service-error.ts';
import { type ChatImage, type ChatJob, imagesOf } from '../../jobs/chat.ts';

/** How often an image's digest stands in the key of a prompt: of 64 characters, as many as 500 tokens have. */
const DIGESTS_IN_KEY = 32;

/** The images of a prompt. */
export interface PromptImages {
  /** Files in the order of their markers. */
  files: readonly Uint8Array[];
  /** The prompt with what tells its images apart in place of their markers. */
  key: string;
}

/** Decodes the images of a model's prompts, and finds their places. */
export class ImageReader {
  readonly #marker: string | null;
  readonly #fingerprint: string;
  /** Decoded images of jobs under way: a conversation that is cut to fit is not decoded again. */
  readonly #pixmaps = new WeakMap<ChatImage, ModelImage>();

  /** @param marker text that stands for an image in a prompt; null: the model has no vision */
  constructor(marker: string | null, fingerprint: string) {
    this.#marker = marker;
    this.#fingerprint = fingerprint;
  }

  /** @throws ServiceError 400 */
  async read({ input }: ChatJob, signal: AbortSignal): Promise<ModelImage[]> {
    const images = imagesOf(input);
    const [first] = images;
    if (!first) return [];
    if (this.#marker === null) {
      const rule = `is an image, and the weights that this device runs, ${this.#fingerprint}, cannot see`;
      throw unsupported(first.param, rule);
    }
    const missing = images.filter((image) => !this.#pixmaps.has(image));
    const { decodeImages } = await import('../images/decode-images.ts');
    const decoded = await decodeImages(missing, (decoder, source) => decoder.pixmap(source), signal);
    for (const [index, image] of missing.entries())
      if (decoded[index]) this.#pixmaps.set(image, decoded[index]);
    return images.flatMap((image) => this.#pixmaps.get(image) ?? []);
  }

  /** @throws ServiceError 400: texts may have a marker in them, which stands for no image */
  checkMarkers(prompt: string, images: readonly ModelImage[]): void {
    if (this.#marker === null || prompt.split(this.#marker).length === images.length + 1) return;
    const message = `The messages contain the text ${JSON.stringify(this.#marker)}, which stands for an image in this engine, or the model's chat template leaves images out. Remove the text.`;
    throw requestError(400, message, 'invalid_value', 'messages');
  }

  /** Undefined: the prompt has no images. */
  place(prompt: string, images: readonly ModelImage[]): PromptImages | undefined {
    if (this.#marker === null || images.length === 0) return undefined;
    const [start = '', ...texts] = prompt.split(this.#marker);
    // As long as the tokens of an image would be as text, about: what is long to compute is worth keeping.
    const keys = texts.map((text, index) => (images[index]?.digest ?? '').repeat(DIGESTS_IN_KEY) + text);
    return { files: images.map(({ file }) => file), key: start + keys.join('') };
  }

  withoutMarkers(prompt: string): string {
    return this.#marker === null ? prompt : prompt.replaceAll(this.#marker, '');
  }
}
