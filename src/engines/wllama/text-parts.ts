import { engineCrashed, ServiceError } from '#base';
import { ClientText } from '#chat-template';
import { outOfMemory } from '#engine-kit';
import type { Job } from '#jobs';
import { type Llama, RequestRejectedError, ServerMemoryError } from '#llama';
import { inParts, PartQueue } from '#scheduling';
import { inputTooLong, noTokens } from '../embedding-rules.ts';

export interface TextPartsOptions {
  fingerprint: string;
  contextLength: number;
  /** Texts of special tokens, which no client's text may become. */
  reserved: readonly string[];
}

/** Maximum part of a text that is kept when it was too long. */
const KEPT_SHARE = 0.9;

/** Computes the texts of requests in llama.cpp's server, one at a time. */
export function textParts(llama: Pick<Llama, 'close'>, options: TextPartsOptions) {
  const queue = new PartQueue();
  let dead = false;
  const clientText = new ClientText(options.reserved);

  function translate(error: unknown, place: string): ServiceError {
    if (error instanceof RequestRejectedError) {
      const { promptTokens } = error;
      if (promptTokens === undefined) return noTokens(place);
      return inputTooLong(place, String(promptTokens), options.contextLength);
    }
    if (error instanceof ServerMemoryError) {
      dead = true;
      return outOfMemory(options.fingerprint, error);
    }
    if (error instanceof ServiceError) return error;
    dead = true;
    return engineCrashed(error);
  }

  return {
    /** Keeps a client's text from becoming special tokens. */
    plain: (text: string): string => clientText.append('', text),
    /**
     * Computes each text when it is due.
     * @param placeOf a text's field in the request, for errors
     * @throws ServiceError; the signal's reason
     */
    async each<T>(
      texts: readonly string[],
      { client }: Pick<Job, 'client'>,
      signal: AbortSignal,
      placeOf: (index: number) => string,
      compute: (text: string, index: number) => Promise<T>,
    ): Promise<T[]> {
      const request = inParts(texts.length, client);
      const results: T[] = [];
      for (const [index, text] of texts.entries()) {
        const result = await queue.run(request, async () => {
          signal.throwIfAborted();
          if (dead) throw engineCrashed(null);
          return compute(text, index).catch((error: unknown) => {
            throw translate(error, placeOf(index));
          });
        });
        request.left--;
        results.push(result);
      }
      return results;
    },
    /**
     * Computes the start of a document, of which the end is left out until it fits.
     * @param most maximum length
     * @throws ServiceError if the query is too long
     */
    async cut<T>(text: string, most: number, compute: (kept: string) => Promise<T>): Promise<T> {
      // A cut may split a character, and the server rejects a text with half of one.
      for (let kept = text.slice(0, most).toWellFormed(); ;) {
        try {
          return await compute(kept);
        } catch (error) {
          const tokens = error instanceof RequestRejectedError ? error.promptTokens : undefined;
          if (tokens === undefined) throw error;
          const { contextLength } = options;
          // What is too long without the document is the query.
          if (kept.length <= 1) throw inputTooLong('query', String(tokens), contextLength);
          const share = Math.min(KEPT_SHARE, contextLength / tokens);
          kept = kept.slice(0, Math.max(1, Math.floor(kept.length * share))).toWellFormed();
        }
      }
    },
    async unload(): Promise<void> {
      dead = true;
      await llama.close();
    },
  };
}
