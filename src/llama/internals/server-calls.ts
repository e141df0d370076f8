/**
 * Calls into llama.cpp's server, one at a time. The package's public methods poll each request separately and
 * concurrently: with n requests, each would get a token only every n steps, a cancel would wait for as many, and
 * one rejected request would fail all.
 * @remarks
 * - Relies on: the actions `completion`, `embedding`, `rerank`, `get_result` and `cancel`; the texts of
 *   errors and of llama.cpp's log below; a request with `verbose` reports its settings in
 *   `__verbose`, with `logit_bias` as token ids.
 * - Read in: @wllama/wllama 3.13.0 (llama.cpp b12211), `cpp/wllama-context.h`; Chromium
 *   156, Firefox 153, WebKitGTK 2.50.
 * - Notices: test/browser/llama-calls.test.ts, in a real server.
 * - Then: a rejected request is taken for a crash, and the engine is reloaded.
 */
import type { Wllama } from '@wllama/wllama';

import { printable } from '#base';
import type { Chunk, RawLogprob } from '../chunk.ts';
import { readable, TextJoiner } from './escaped-text.ts';
import {
  kernelsOf,
  proxyOf,
  type GetResultRequest,
  type QueuedAnswer,
  type ResultAnswer,
} from './worker-proxy.ts';

/** The server rejected this request and remains usable. */
export class RequestRejectedError extends Error {
  /** Set with `contextLength` if the prompt is longer than the context, and without it for a count. */
  readonly promptTokens: number | undefined;
  readonly contextLength: number | undefined;

  constructor(message: string, promptTokens?: number, contextLength?: number) {
    super(message);
    this.promptTokens = promptTokens;
    this.contextLength = contextLength;
  }
}

/** Calls into llama.cpp's server, one at a time. Any error but a `RequestRejectedError` means that the server is broken. */
export interface ServerCalls {
  /** Queues a completion. `files` are images in the order of their markers in the prompt. @returns its id */
  begin(fields: Record<string, unknown>, files?: readonly Uint8Array[]): Promise<number>;
  /**
   * Queues a text to embed. A step rejects a text longer than a batch with its `promptTokens`.
   * @returns its id
   */
  beginEmbedding(text: string): Promise<number>;
  /** Queues a pair of texts to score. A step rejects a pair longer than a batch with its `promptTokens`. @returns its id */
  beginRank(query: string, document: string): Promise<number>;
  /**
   * Computes one step for all slots, then takes one result of this request, if it has one. An exception in the step
   * leaves the slots in an unknown state; an exception while the result is written does not.
   * @param drafts whether to also check tokens that followed the last ones before: a result for each that is right
   */
  step(id: number, drafts?: boolean): Promise<StepResult>;
  /** Takes a queued result without a step. @returns null if none is queued, or if the WASM lacks our kernels */
  take(id: number): Promise<StepResult | null>;
  /** Frees the slot; the prompt computed so far stays in its cache. */
  cancel(id: number): Promise<void>;
}

export interface StepResult {
  chunks: Chunk[];
  more: boolean;
}

/**
 * Symptom of an exception in llama.cpp: the glue reads the magic number of its input (`GLUE`) as the length of
 * an answer that was never written. Messages of Chromium, Firefox and WebKit.
 */
const NO_ANSWER =
  /Invalid typed array length: 1163217991|Invalid magic number|out-of-bounds Uint8Array|Length out of range of buffer/;

const isNoAnswer = (error: unknown): boolean => error instanceof Error && NO_ANSWER.test(error.message);

/** Whether the slots together filled the context that they share. */
export const isCrowded = (error: unknown): boolean =>
  error instanceof RequestRejectedError && error.message.includes('Context size has been exceeded');

/** Result of a step that produced none for this request. */
const NO_RESULT: StepResult = { chunks: [], more: true };

/** Error for a text to embed that is longer than a batch. The group is its number of tokens. */
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

/** llama.cpp's reason for a failed load. Its callers log further lines after it, which may look the same: the first counts. */
const LOAD_ERROR =
  /(?:error loading model[^:]*: *|(?=[KV] cache type .* does not divide)|(?=insufficient memory)|(?=failed to (?:apply|load) lora adapter)|\.(?:c|cpp|h):\d+: )(.+)/;
const MAX_REASON = 300;

/** Logger for wllama. It prints nothing, but collects causes that llama.cpp reports only in its log. */
export class NativeLog {
  readonly debug = ignore;
  readonly warn = ignore;
  #sawBadAlloc = false;
  #loadError: string | null = null;

  readonly error = (...parts: unknown[]): void => {
    for (const part of parts) {
      if (typeof part !== 'string') continue;
      this.#sawBadAlloc ||= part.includes(BAD_ALLOC);
      this.#loadError ??= LOAD_ERROR.exec(part)?.[1] ?? null;
    }
  };
  /** ggml's assertions have no level. */
  readonly log = this.error;

  /** llama.cpp's reason for a failed load, such as a missing tensor. Sanitized, as it quotes the file. */
  get loadError(): string | null {
    return this.#loadError === null ? null : printable(this.#loadError, MAX_REASON);
  }

  /** Whether an allocation has failed since the last call. */
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
  const queued = async (queueing: Promise<QueuedAnswer>): Promise<number> => {
    const answer = await queueing.catch((error: unknown) => {
      if (!isNoAnswer(error)) throw error;
      if (log.takeBadAlloc()) throw new ServerMemoryError('at its begin', { cause: error });
      throw new RequestRejectedError('not understood');
    });
    if (answer.success) return answer.req_id;
    if (answer.message?.includes(BAD_ALLOC)) throw new ServerMemoryError(answer.message);
    throw new RequestRejectedError(answer.message ?? 'not understood');
  };
  const resultOf = (id: number): GetResultRequest => ({ _name: 'gres_req', req_id: id });
  return {
    begin(fields, files = []) {
      const data_json = JSON.stringify(fields);
      return queued(
        proxy.wllamaAction('completion', {
          _name: 'cmpl_req',
          is_chat: false,
          is_asr: false,
          data_json,
          files: [...files],
        }),
      );
    },
    beginEmbedding(input) {
      const data_json = JSON.stringify({ input });
      return queued(proxy.wllamaAction('embedding', { _name: 'embd_req', data_json, files: [] }));
    },
    beginRank(query, document) {
      const data_json = JSON.stringify({ query, document });
      return queued(proxy.wllamaAction('rerank', { _name: 'rrnk_req', data_json }));
    },
    step: async (id, drafts = false) =>
      (await read(id, proxy.wllamaAction(drafts ? 'draft_result' : 'get_result', resultOf(id)))) ?? NO_RESULT,
    // The linked kernels add the action, and `draft_result` (tools/kernels/server.h).
    take: async (id) => (canTake ? read(id, proxy.wllamaAction('take_result', resultOf(id))) : null),
    async cancel(id) {
      joiners.delete(id);
      await proxy.wllamaAction('cancel', { _name: 'cncl_req', req_id: id });
    },
  };
}

/** Decodes escaped texts: each token by itself, the reply's text joined with earlier chunks. */
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
