import type { ModelImage } from '#images';
import type { PromptImages } from '#llama';
import { requestError } from '#base';
import { imagesOf, type ChatImage, type ChatJob } from '#jobs';

/** Repetitions of an image's digest (64 characters) in a prompt's key: about the length of 500 tokens. */
const DIGESTS_IN_KEY = 32;

/**
 * Decodes the images of a vision model's prompts and assigns them to their markers.
 * @param marker text that stands for an image in a prompt
 */
export function promptImageReader(marker: string) {
  /** Decoded images of running jobs: truncating a conversation does not decode its images again. */
  const pixmaps = new WeakMap<ChatImage, ModelImage>();
  return {
    /** @throws ServiceError 400 */
    async read({ input }: ChatJob, signal: AbortSignal): Promise<ModelImage[]> {
      const images = imagesOf(input);
      const missing = images.filter((image) => !pixmaps.has(image));
      const { decodeImages } = await import('../pictures/decode-images.ts');
      const decoded = await decodeImages(missing, (decoder, image) => decoder.pixmap(image), signal);
      for (const [index, image] of missing.entries()) if (decoded[index]) pixmaps.set(image, decoded[index]);
      return images.flatMap((image) => pixmaps.get(image) ?? []);
    },
    /** Checks that each marker stands for an image, as a raw prompt may contain the marker. @throws ServiceError 400 */
    checkMarkers(prompt: string, images: readonly ModelImage[]): void {
      if (prompt.split(marker).length === images.length + 1) return;
      const message = `The model's chat template leaves images out, or a raw prompt contains the text ${JSON.stringify(marker)}, which stands for an image in this engine.`;
      throw requestError(400, message, 'invalid_value', 'messages');
    },
    /** Assigns images to the prompt's markers; undefined if there are none. */
    place(prompt: string, images: readonly ModelImage[]): PromptImages | undefined {
      if (images.length === 0) return undefined;
      const [start = '', ...texts] = prompt.split(marker);
      // An image's part of the key is about as long as text with as many tokens: the key's length decides
      // whether the state is worth keeping.
      const keys = texts.map((text, index) => (images[index]?.digest ?? '').repeat(DIGESTS_IN_KEY) + text);
      return { files: images.map(({ file }) => file), key: start + keys.join('') };
    },
    withoutMarkers: (prompt: string): string => prompt.replaceAll(marker, ''),
  };
}
