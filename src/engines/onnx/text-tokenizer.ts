import { corruptFile, engineCrashed, serverError, ServiceError, abortable, withTimeout } from '#base';
import { isOutOfMemory, outOfMemory, RestartableHelper, type EngineContext } from '#engine-kit';
import type { FileFault, TokenizedText, TokenizerShape, tokenizerWorker } from './tokenizer-worker.ts';
import { folderOf, type OnnxVariant, readTokenizerFiles } from './transformers-files.ts';

/** Time limit for loading a tokenizer's files. A desktop reads 15 MB in 2.5 s; a phone may be 50 times as slow. */
const loadSeconds = (bytes: number): number => Math.round(20 + bytes / 150_000);
/** Time limit for tokenizing the texts of one slice. */
const tokenizeSeconds = (characters: number): number => Math.round(10 + characters / 4000);

export type TextTokenizer = Awaited<ReturnType<typeof openTokenizer>>;

/**
 * Opens a tokenizer in a worker, which is terminated if it exceeds a time limit.
 * @throws ServiceError naming the file: `weights_corrupt`, or `engine_failed` on a slow device
 */
export async function openTokenizer(variant: OnnxVariant, context: EngineContext) {
  const files = await readTokenizerFiles(variant, context);
  const path = folderOf(variant);
  let shape: TokenizerShape = { before: [], after: [], vocabularySize: 0 };
  const helper = new RestartableHelper<typeof tokenizerWorker>('tokenizer', async (tokenizer) => {
    const loading = tokenizer.load(files);
    const seconds = loadSeconds([...files.values()].reduce((sum, { size }) => sum + size, 0));
    const loaded = await withTimeout<TokenizerShape | FileFault>(loading, seconds * 1000);
    if (!loaded)
      throw failed(
        `${path}tokenizer.json was not read within ${seconds} s. ${BUSY} Try again, or choose a smaller model.`,
      );
    if ('fault' in loaded) {
      if (isOutOfMemory(loaded.cause ?? '')) throw outOfMemory(variant.name, loaded.cause);
      throw corruptFile(path + loaded.file, loaded.fault);
    }
    shape = loaded;
  });

  try {
    await abortable(helper.start(), context.signal);
  } catch (error) {
    helper.end();
    throw error;
  }
  return {
    /**
     * Tokenizes texts. Calls must not overlap, as each has its own deadline.
     * @param cutTo as for `tokenizerWorker`
     * @throws ServiceError
     */
    async tokenize(texts: readonly string[], cutTo?: number): Promise<readonly TokenizedText[]> {
      const seconds = tokenizeSeconds(texts.reduce((sum, { length }) => sum + length, 0));
      const toError = (cause: unknown): Error =>
        cause === null ? failed(slowText(seconds)) : failed(failedText, cause);
      for (let isRetry = false; ; isRetry = true) {
        try {
          return await helper.call((tokenizer) => tokenizer.tokenize(texts, variant.contextLength, cutTo), {
            timeoutMs: seconds * 1000,
            toError: (cause) => (!isRetry && isLost(cause) ? cause : toError(cause)),
          });
        } catch (error) {
          // `end()` rejects with a plain Error.
          const failure = error instanceof ServiceError ? error : engineCrashed(error);
          // The worker may have ended before this call, for example for lack of memory. Retry once in another worker.
          if (isRetry || !isLost(failure)) throw failure;
        }
      }
    },

    /** Adds the model's special tokens to a client's ids; null if the vocabulary lacks one of the ids. */
    wrap(ids: readonly number[]): number[] | null {
      const { before, after, vocabularySize } = shape;
      if (!ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabularySize)) return null;
      const isWrapped =
        before.length > 0 && ids[0] === before[0] && (after.length === 0 || ids.at(-1) === after.at(-1));
      return isWrapped ? [...ids] : [...before, ...ids, ...after];
    },

    end: () => helper.end(),
  };
}

const isLost = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'engine_crashed';

const failed = (message: string, cause?: unknown): ServiceError =>
  serverError('engine_failed', message, cause);
const BUSY = 'The device may be slow or busy.';
const failedText = "This model's tokenizer failed on a text. Its file may be damaged: use another model.";
const slowText = (seconds: number): string =>
  `This model's tokenizer takes longer than ${seconds} s for a text. ${BUSY} Send shorter texts, or try again.`;
