import type { TransformersVariant } from './rules.ts';
import { corruptFile, engineCrashed, serverError, ServiceError, abortable, withTimeout } from '#base';
import { isOutOfMemory, outOfMemory, RestartableHelper, type EngineContext } from '#engine-kit';
import type { FileFault, TokenizerShape, tokenizerWorker } from './tokenizer-worker.ts';
import type { TokenizedText } from './transformers-engine.ts';
import { folderOf, readTokenizerFiles } from './transformers-files.ts';

/** Time limit for loading a tokenizer's files. A desktop reads 15 MB in 2.5 s; a phone may be 50 times as slow. */
const loadSeconds = (bytes: number): number => Math.round(20 + bytes / 150_000);
/** Time limit for tokenizing the texts of one slice. */
const tokenizeSeconds = (characters: number): number => Math.round(10 + characters / 4000);

/** Tokenizes in a worker, which is terminated if it exceeds a time limit. */
export class TextTokenizer {
  readonly #helper: RestartableHelper<typeof tokenizerWorker>;
  readonly #contextLength: number;
  #shape: TokenizerShape = { before: [], after: [], vocabularySize: 0 };

  private constructor(variant: TransformersVariant, files: ReadonlyMap<string, Blob>) {
    this.#contextLength = variant.contextLength;
    this.#helper = new RestartableHelper('tokenizer', async (tokenizer) => {
      const loading = tokenizer.load(variant.name, files);
      const seconds = loadSeconds([...files.values()].reduce((sum, { size }) => sum + size, 0));
      const shape = await withTimeout<TokenizerShape | FileFault>(loading, seconds * 1000);
      if (!shape) throw slowLoad(variant, seconds);
      if ('fault' in shape) {
        if (isOutOfMemory(shape.cause ?? '')) throw outOfMemory(variant.name, shape.cause);
        throw corruptFile(folderOf(variant) + shape.file, shape.fault);
      }
      this.#shape = shape;
    });
  }

  /** @throws ServiceError naming the file: `weights_corrupt`, or `engine_failed` on a slow device */
  static async open(variant: TransformersVariant, context: EngineContext): Promise<TextTokenizer> {
    const tokenizer = new TextTokenizer(variant, await readTokenizerFiles(variant, context));
    try {
      await abortable(tokenizer.#helper.start(), context.signal);
      return tokenizer;
    } catch (error) {
      tokenizer.end();
      throw error;
    }
  }

  /**
   * Tokenizes texts. Calls must not overlap, as each has its own deadline.
   * @param cutTo as for `tokenizerWorker`
   * @throws ServiceError
   */
  async tokenize(texts: readonly string[], cutTo?: number): Promise<readonly TokenizedText[]> {
    const seconds = tokenizeSeconds(texts.reduce((sum, { length }) => sum + length, 0));
    const toError = (cause: unknown): Error => (cause === null ? slowText(seconds) : failedText(cause));
    try {
      return await this.#call(texts, cutTo, seconds, (cause) => (isLost(cause) ? cause : toError(cause)));
    } catch (error) {
      if (!isLost(error)) throw error;
      // The worker may have ended before this call, for example for lack of memory. Retry once in another worker.
      return this.#call(texts, cutTo, seconds, toError);
    }
  }

  async #call(
    texts: readonly string[],
    cutTo: number | undefined,
    seconds: number,
    toError: (cause: unknown) => Error,
  ): Promise<TokenizedText[]> {
    try {
      return await this.#helper.call((tokenizer) => tokenizer.tokenize(texts, this.#contextLength, cutTo), {
        timeoutMs: seconds * 1000,
        toError,
      });
    } catch (error) {
      // `end()` rejects with a plain Error.
      throw error instanceof ServiceError ? error : engineCrashed(error);
    }
  }

  /** Adds the model's special tokens to a client's ids; null if the vocabulary lacks one of the ids. */
  wrap(ids: readonly number[]): number[] | null {
    const { before, after, vocabularySize } = this.#shape;
    if (!ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabularySize)) return null;
    const isWrapped =
      before.length > 0 && ids[0] === before[0] && (after.length === 0 || ids.at(-1) === after.at(-1));
    return isWrapped ? [...ids] : [...before, ...ids, ...after];
  }

  end(): void {
    this.#helper.end();
  }
}

const isLost = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'engine_crashed';

const BUSY = 'The device may be slow or busy.';

const slowLoad = (variant: TransformersVariant, seconds: number): ServiceError =>
  serverError(
    'engine_failed',
    `${folderOf(variant)}tokenizer.json was not read within ${seconds} s. ${BUSY} Try again, or choose a smaller model.`,
  );

const slowText = (seconds: number): ServiceError =>
  serverError(
    'engine_failed',
    `This model's tokenizer takes longer than ${seconds} s for a text. ${BUSY} Send shorter texts, or try again.`,
  );

const failedText = (cause: unknown): ServiceError =>
  serverError(
    'engine_failed',
    "This model's tokenizer failed on a text. Its file may be damaged: use another model.",
    cause,
  );
