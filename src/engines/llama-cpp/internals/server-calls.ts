/**
 * The calls into llama.cpp's server, one at a time. The package's public methods poll each request by itself, all at once: with
 * several under way, each would hear of a token only every so many steps, a cancel would wait behind as many, and one refused
 * request would fail all.
 *
 * @remarks
 * - Relies on: the actions `completion`, `embedding`, `get_result` and `cancel`; the texts of errors and of llama.cpp's log below;
 *   a request with `verbose` tells its settings in `__verbose`, with `logit_bias` as token ids.
 * - Read in: @wllama/wllama 3.8.1 (llama.cpp b11364), `cpp/wllama-context.h`; Chromium 156, Firefox 153, WebKitGTK 2.50.
 * - Notices: test/browser/llama-calls.test.ts, in a real server.
 * - Then: a request that the server refuses is taken for its end, and the engine is loaded again.
 */
import type { Wllama } from '@wllama/wllama';

import { printable } from '../../../util/printable.ts';
import type { Chunk, RawLogprob } from '../completion-format.ts';
import { readable, TextJoiner } from './escaped-text.ts';
import { kernelsOf, proxyOf, type ResultAnswer } from './worker-proxy.ts';

/** The server rejected this request and remains usable. */
export class RequestRejectedError extends Error {
  /** Present with `contextLength` where the prompt is longer than the context, and without it for a count. */
  readonly promptTokens: number | undefined;
  readonly contextLength: number | undefined;

  constructor(message: string, promptTokens?: number, contextLength?: number) {
    super(message);
    this.promptTokens = promptTokens;
    this.contextLength = contextLength;
  }
}

/** The calls into llama.cpp's server. One runs at a time; any rejection but a `RequestRejectedError` is the server's end. */
export interface ServerCalls {
  /** Queues a completion. `files`: of the images, in the order of their markers in the prompt. @returns its id */
  begin(fields: Record<string, unknown>, files?: readonly Uint8Array[]): Promise<number>;
  /**
   * Queues a text to embed. A step refuses one that is longer than a batch with its `promptTokens`: a chat model counts so.
   * @returns its id
   */
  beginEmbedding(text: string): Promise<number>;
  /**
   * Computes one step for all slots; then takes one result of this completion, if it has one. An exception in the step
   * leaves the slots in an unknown state; one in writing the result does not.
   */
  step(id: number): Promise<StepResult>;
  /** Takes a result that waits, without a step. @returns null: none waits, or the WASM is the package's own */
  take(id: number): Promise<StepResult | null>;
  /** Frees the slot; the prompt computed so far stays in its cache. */
  cancel(id: number): Promise<void>;
}

export interface StepResult {
  chunks: Chunk[];
  more: boolean;
}

/**
 * How an exception in llama.cpp comes out: the glue takes the magic number of its input (`GLUE`) for the length of
 * an answer that was never written. By Chromium, Firefox and WebKit.
 */
const NO_ANSWER =
  /Invalid typed array length: 1163217991|Invalid magic number|out-of-bounds Uint8Array|Length out of range of buffer/;

const isNoAnswer = (error: unknown): boolean => error instanceof Error && NO_ANSWER.test(error.message);

/** All slots share one context, which may be full though none of them has filled it alone. */
export const isCrowded = (error: unknown): boolean =>
  error instanceof RequestRejectedError && error.message.includes('Context size has been exceeded');

/** Result of a step after which no result of this completion waits. */
const NO_RESULT: StepResult = { chunks: [], more: true };

/** Error for a text to embed that is longer than a batch. The group holds its tokens. */
const TOO_LARGE = /^input \((\d+) tokens\) is too large/;

interface ServerError {
  message?: string;
  n_prompt_tokens?: number;
  n_ctx?: number;
}

const ignore = (): void => undefined;

/** How C++ names a failed allocation. */
const BAD_ALLOC = 'bad_alloc';

/** The server has too little memory for a request. Loading it again drops its saved prompt states. */
export class ServerMemoryError extends Error {}

/** llama.cpp's reason for a failed load, which comes before the lines of its callers. */
const LOAD_ERROR = /(?:error loading model[^:]*: *|(?=[KV] cache type .* does not divide))(.+)/;
const MAX_REASON = 300;

/** wllama's logger. Prints nothing; the causes of some failures are only in llama.cpp's log. */
export class NativeLog {
  readonly debug = ignore;
  readonly log = ignore;
  readonly warn = ignore;
  #sawBadAlloc = false;
  #loadError: string | null = null;

  readonly error = (...parts: unknown[]): void => {
    for (const part of parts) {
      if (typeof part !== 'string') continue;
      this.#sawBadAlloc ||= part.includes(BAD_ALLOC);
      this.#loadError = LOAD_ERROR.exec(part)?.[1] ?? this.#loadError;
    }
  };

  /** llama.cpp's reason why it does not load a model, such as a missing tensor. It quotes the file, which may hold anything. */
  get loadError(): string | null {
    return this.#loadError === null ? null : printable(this.#loadError, MAX_REASON);
  }

  /** Whether an allocation has failed since this was last asked. */
  takeBadAlloc(): boolean {
    const saw = this.#sawBadAlloc;
    this.#sawBadAlloc = false;
    return saw;
  }
}

export function serverCalls(wllama: Wllama, log: Pick<NativeLog, 'takeBadAlloc'>): ServerCalls {
  const proxy = proxyOf(wllama);
  const canTake = kernelsOf(wllama) !== undefined;
  const joiners = new Map<number, TextJoiner>();
  const read = async (id: number, result: Promise<ResultAnswer>): Promise<StepResult | null> => {
    const answer = await result.catch((error: unknown) => {
      if (isNoAnswer(error) && log.takeBadAlloc()) throw new ServerMemoryError('in a step', { cause: error });
      throw error;
    });
    if (!answer.data_json && answer.has_more) return null;
    const data: unknown = answer.data_json ? JSON.parse(answer.data_json) : null;
    if (answer.is_error) {
      const { message = 'no message', n_prompt_tokens, n_ctx } = (data ?? {}) as ServerError;
      if (message.includes(BAD_ALLOC)) throw new ServerMemoryError(message);
      const counted = TOO_LARGE.exec(message)?.[1];
      throw new RequestRejectedError(message, counted ? Number(counted) : n_prompt_tokens, n_ctx);
    }
    const chunks = (data === null ? [] : Array.isArray(data) ? data : [data]) as Chunk[];
    const joiner = joiners.get(id) ?? new TextJoiner();
    if (answer.has_more) joiners.set(id, joiner);
    else joiners.delete(id);
    return { chunks: chunks.map((chunk) => withText(chunk, joiner)), more: answer.has_more };
  };
  const queued = async (queueing: Promise<{ req_id: number }>): Promise<number> => {
    const answer = await queueing.catch((error: unknown) => {
      if (!isNoAnswer(error)) throw error;
      if (log.takeBadAlloc()) throw new ServerMemoryError('at its begin', { cause: error });
      throw new RequestRejectedError('not understood');
    });
    return answer.req_id;
  };
  const resultOf = (id: number) => ({ _name: 'gres_req', req_id: id });
  return {
    begin(fields, files = []) {
      const body = { _name: 'cmpl_req', is_chat: false, data_json: JSON.stringify(fields), files };
      return queued(proxy.wllamaAction('completion', body));
    },
    beginEmbedding(input) {
      const body = { _name: 'embd_req', data_json: JSON.stringify({ input }), files: [] };
      return queued(proxy.wllamaAction('embedding', body));
    },
    step: async (id) => (await read(id, proxy.wllamaAction('get_result', resultOf(id)))) ?? NO_RESULT,
    // Without a step: a call that the linked kernels add (tools/kernels/server.h).
    take: async (id) => (canTake ? read(id, proxy.wllamaAction('!get_result', resultOf(id))) : null),
    async cancel(id) {
      joiners.delete(id);
      await proxy.wllamaAction('cancel', { _name: 'cncl_req', req_id: id });
    },
  };
}

/** Texts as characters: those of the tokens each by itself, that of the reply joined with what came before. */
function withText(chunk: Chunk, joiner: TextJoiner): Chunk {
  if (!chunk.choices) return chunk;
  const choices = chunk.choices.map(({ text, logprobs, ...choice }) => ({
    ...choice,
    ...(text !== undefined && { text: joiner.join(text) }),
    ...(logprobs && { logprobs: { content: logprobs.content?.map(withToken) ?? null } }),
  }));
  return { ...chunk, choices };
}

const withToken = (raw: RawLogprob): RawLogprob => ({
  ...raw,
  token: readable(raw.token),
  ...(raw.top_logprobs && { top_logprobs: raw.top_logprobs.map(withToken) }),
});
