import type { Wllama } from '@wllama/wllama';

import type { Chunk } from './reply-reader.ts';

/** The server's own answer that it will not, or cannot, do what was asked; it is as good as before. */
export class Refusal extends Error {
  /** Both given when it is that the prompt is longer than the context. */
  readonly promptTokens: number | undefined;
  readonly contextLength: number | undefined;

  constructor(message: string, promptTokens?: number, contextLength?: number) {
    super(message);
    this.promptTokens = promptTokens;
    this.contextLength = contextLength;
  }
}

/** The calls into llama.cpp's server. One runs at a time; any rejection but a `Refusal` is the server's end. */
export interface ServerCalls {
  /** Queues a completion. @returns its id */
  begin(fields: Record<string, unknown>): Promise<number>;
  /** Computes one step for all slots; then takes one result of this completion, if it has one. */
  step(id: number): Promise<StepResult>;
  /** Frees the slot; the prompt computed so far stays in its cache. */
  cancel(id: number): Promise<void>;
}

interface StepResult {
  chunks: Chunk[];
  more: boolean;
}

/** The package's own channel to its worker, which its public methods go through, too. Its version is pinned. */
interface Proxy {
  wllamaAction(action: 'completion', body: object): Promise<{ success: boolean; req_id: number }>;
  wllamaAction(
    action: 'get_result',
    body: object,
  ): Promise<{ has_more: boolean; data_json: string; is_error: boolean }>;
  wllamaAction(action: 'cancel', body: object): Promise<unknown>;
}

/**
 * How a request that llama.cpp's server cannot parse comes out: the glue takes the magic number of its own input
 * (`GLUE`) for the length of an answer that was never written.
 */
const NO_ANSWER = /Invalid typed array length: 1163217991|Invalid magic number/;

interface ServerError {
  message?: string;
  n_prompt_tokens?: number;
  n_ctx?: number;
}

/**
 * The public methods poll each request by itself, all at once: with several under way, each would hear of a token
 * only every so many steps, a cancel would wait behind as many, and one refused request would fail all.
 */
export function serverCalls(wllama: Wllama): ServerCalls {
  const { proxy } = wllama as unknown as { proxy: Proxy };
  return {
    async begin(fields) {
      const body = { _name: 'cmpl_req', is_chat: false, data_json: JSON.stringify(fields), files: [] };
      try {
        const { req_id: id } = await proxy.wllamaAction('completion', body);
        return id;
      } catch (error) {
        if (error instanceof Error && NO_ANSWER.test(error.message)) throw new Refusal('not understood');
        throw error;
      }
    },
    async step(id) {
      const answer = await proxy.wllamaAction('get_result', { _name: 'gres_req', req_id: id });
      const data: unknown = answer.data_json ? JSON.parse(answer.data_json) : null;
      if (answer.is_error) {
        const error = (data ?? {}) as ServerError;
        throw new Refusal(error.message ?? 'no message', error.n_prompt_tokens, error.n_ctx);
      }
      const chunks = data === null ? [] : Array.isArray(data) ? data : [data];
      return { chunks: chunks as Chunk[], more: answer.has_more };
    },
    async cancel(id) {
      await proxy.wllamaAction('cancel', { _name: 'cncl_req', req_id: id });
    },
  };
}
