import type { TransformersVariant } from '../../catalog/catalog.ts';
import { corruptFile, engineCrashed } from '../../errors/engine-errors.ts';
import { serverError, ServiceError } from '../../errors/service-error.ts';
import { abortable, withTimeout } from '../../util/async.ts';
import type { EngineContext } from '../engine.ts';
import { RestartableHelper } from '../restartable-helper.ts';
import type { FileFault, TokenizerFacts, tokenizerWorker } from './tokenizer-worker.ts';
import type { TokenizedText } from './transformers-engine.ts';
import { folderOf, readTokenizerFiles } from './transformers-files.ts';

const LOAD_TIMEOUT_MS = 20_000;
const NOT_READ = { file: 'tokenizer.json', fault: `was not read within ${LOAD_TIMEOUT_MS / 1000} s` };
/** Time limit for the texts of one turn. */
const TOKENIZE_TIMEOUT_MS = 10_000;

/** Tokenizes in a worker, which ends with a tokenizer that does not come to an end. */
export class TextTokenizer {
  readonly #helper: RestartableHelper<typeof tokenizerWorker>;
  readonly #contextLength: number;
  #facts: TokenizerFacts = { before: [], after: [], vocabularySize: 0 };

  private constructor(variant: TransformersVariant, files: ReadonlyMap<string, Blob>) {
    this.#contextLength = variant.contextLength;
    this.#helper = new RestartableHelper('tokenizer', async (tokenizer) => {
      const loading = tokenizer.load(variant.name, files);
      const facts = (await withTimeout<TokenizerFacts | FileFault>(loading, LOAD_TIMEOUT_MS)) ?? NOT_READ;
      if ('fault' in facts) throw corruptFile(folderOf(variant) + facts.file, facts.fault);
      this.#facts = facts;
    });
  }

  /** @throws ServiceError `weights_corrupt` naming the file */
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

  /** Texts of several calls must wait for each other: the deadline of each call is its own. @throws ServiceError */
  tokenize(texts: readonly string[]): Promise<readonly TokenizedText[]> {
    const lostOrFailed = (cause: unknown) => (isLost(cause) ? cause : tokenizerError(cause));
    // The worker may have ended before, as when the browser lacked memory.
    return this.#call(texts, lostOrFailed).catch((error: unknown) => {
      if (isLost(error)) return this.#call(texts, tokenizerError);
      throw error;
    });
  }

  async #call(texts: readonly string[], toError: (cause: unknown) => Error): Promise<TokenizedText[]> {
    try {
      return await this.#helper.call((tokenizer) => tokenizer.tokenize(texts, this.#contextLength), {
        timeoutMs: TOKENIZE_TIMEOUT_MS,
        toError,
      });
    } catch (error) {
      // The end of the model has its own reason.
      throw error instanceof ServiceError ? error : engineCrashed(error);
    }
  }

  /** Ids from a client with the special tokens that the model expects; null when one of them is no token of this model. */
  wrap(ids: readonly number[]): number[] | null {
    const { before, after, vocabularySize } = this.#facts;
    if (!ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabularySize)) return null;
    const isWrapped = ids[0] === before[0] && ids.at(-1) === after.at(-1) && before.length > 0;
    return isWrapped ? [...ids] : [...before, ...ids, ...after];
  }

  end(): void {
    this.#helper.end();
  }
}

const isLost = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'engine_crashed';

const tokenizerError = (cause: unknown): ServiceError =>
  serverError(
    'engine_failed',
    `This model's tokenizer ${cause === null ? `takes longer than ${TOKENIZE_TIMEOUT_MS / 1000} s for a text` : 'failed on a text'}. Its file may be damaged: use another model.`,
    cause,
  );
