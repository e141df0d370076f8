import type { Wllama } from '@wllama/wllama';

import type { NativeLog } from './native-log.ts';
import { getResult, proxyOf, type ResultAnswer, takeResult } from './worker-proxy.ts';
import type { Chunk } from './wllama-reply.ts';

/** The server's own answer that it will not, or cannot, do what was asked; it is as good as before. */
export class RequestRejectedError extends Error {
  /** Both given when it is that the prompt is longer than the context. */
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
  /** Queues a completion. @returns its id */
  begin(fields: Record<string, unknown>): Promise<number>;
  /**
   * Computes one step for all slots; then takes one result of this completion, if it has one. An exception in the step
   * leaves the slots in an unknown state; one in writing the result does not.
   */
  step(id: number): Promise<StepResult>;
  /** Takes a result that waits, without a step. @returns null: none waits, or this cannot be done with this build */
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

/** In place of a result whose text is not UTF-8, such as half a character between two whole ones: it cannot be read. */
const UNREADABLE: StepResult = { chunks: [{ choices: [{ text: '\ufffd' }] }], more: true };

/** Of a step after which no result of this completion waits. */
const NO_RESULT: StepResult = { chunks: [], more: true };

interface ServerError {
  message?: string;
  n_prompt_tokens?: number;
  n_ctx?: number;
}

/**
 * The public methods poll each request by itself, all at once: with several under way, each would hear of a token
 * only every so many steps, a cancel would wait behind as many, and one refused request would fail all.
 */
export function serverCalls(
  wllama: Wllama,
  log: Pick<NativeLog, 'takeInvalidText'>,
  canTake: boolean,
): ServerCalls {
  const proxy = proxyOf(wllama);
  const read = async (result: Promise<ResultAnswer>): Promise<StepResult | null> => {
    const answer = await result.catch((error: unknown) => {
      if (isNoAnswer(error) && log.takeInvalidText()) return null;
      throw error;
    });
    if (!answer) return UNREADABLE;
    if (!answer.data_json && answer.has_more) return null;
    const data: unknown = answer.data_json ? JSON.parse(answer.data_json) : null;
    if (answer.is_error) {
      const error = (data ?? {}) as ServerError;
      throw new RequestRejectedError(error.message ?? 'no message', error.n_prompt_tokens, error.n_ctx);
    }
    const chunks = data === null ? [] : Array.isArray(data) ? data : [data];
    return { chunks: chunks as Chunk[], more: answer.has_more };
  };
  return {
    async begin(fields) {
      const body = { _name: 'cmpl_req', is_chat: false, data_json: JSON.stringify(fields), files: [] };
      try {
        const { req_id: id } = await proxy.wllamaAction('completion', body);
        return id;
      } catch (error) {
        if (isNoAnswer(error)) throw new RequestRejectedError('not understood');
        throw error;
      }
    },
    step: async (id) => (await read(getResult(proxy, id))) ?? NO_RESULT,
    take: (id) => (canTake ? read(takeResult(proxy, id)) : Promise.resolve(null)),
    async cancel(id) {
      await proxy.wllamaAction('cancel', { _name: 'cncl_req', req_id: id });
    },
  };
}
