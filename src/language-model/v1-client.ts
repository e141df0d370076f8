import { EventSourceParserStream } from 'eventsource-parser/stream';
import { delay, messageOf, untilFailure, writeJson } from '#base';
import type { Localtext } from '#page';
import type { LoadProgress } from '#protocol';
import type { V1Message, V1ToolCall } from './conversation.ts';
import { V1Error } from './exceptions.ts';

export interface V1Request {
  messages: V1Message[];
  tools?: object[];
  temperature: number;
  top_p: number;
  /** Unlike OpenAI's `strict`, it allows optional members, and unlike its absence refuses what is not enforced. */
  guided_json?: object;
  continue_final_message?: true;
  tool_choice?: 'none';
}

/** What ends a streamed reply. */
export interface ReplyEnd {
  toolCalls: V1ToolCall[];
  isCut: boolean;
  /** Tokens of the prompt and the reply. */
  totalTokens: number;
}

export interface V1Model {
  contextLength: number;
  capabilities: string[];
}

interface Chunk {
  choices?: {
    delta: { content?: string | null; tool_calls?: ({ index: number } & V1ToolCall)[] };
    finish_reason: string | null;
  }[];
  usage?: { total_tokens: number } | null;
  error?: { message?: string; type?: string; code?: string | null };
}

const MAX_RETRIES = 2;

/** Sends requests to the page's `/v1`. */
export class V1Client {
  readonly model: string;
  readonly localtext: Promise<Localtext>;
  readonly #limit: { max_completion_tokens?: number };
  readonly #key = untilFailure(async () => {
    const { keys } = await this.localtext;
    return (await keys.ensure({ label: 'LanguageModel' })).key;
  });

  constructor(localtext: Promise<Localtext>, { model, maxTokens }: { model: string; maxTokens?: number }) {
    this.localtext = localtext;
    this.model = model;
    this.#limit = maxTokens === undefined ? {} : { max_completion_tokens: maxTokens };
  }

  async load(signal: AbortSignal | undefined, onProgress: (progress: LoadProgress) => void): Promise<void> {
    const localtext = await this.localtext;
    await localtext.ready(this.model, { onProgress, ...(signal && { signal }) });
  }

  /** @throws V1Error 404 for an unknown model */
  async describe(): Promise<V1Model> {
    const response = await this.#fetch(`/models/${this.model}`);
    const model = (await response.json()) as { context_length?: number; capabilities?: string[] };
    return { contextLength: model.context_length ?? Infinity, capabilities: model.capabilities ?? [] };
  }

  /** Counts the tokens of a prompt. A text that is too long for `/v1` to count is estimated by the first halves of its messages. */
  async count(request: V1Request, signal: AbortSignal): Promise<number> {
    try {
      const response = await this.#post('/chat/completions/input_tokens', request, signal);
      return ((await response.json()) as { input_tokens: number }).input_tokens;
    } catch (error) {
      if (!isTooLong(error)) throw error;
      return 2 * (await this.count({ ...request, messages: halved(request.messages) }, signal));
    }
  }

  /** Streams a reply's text. @throws V1Error */
  async *stream(request: V1Request, signal: AbortSignal): AsyncGenerator<string, ReplyEnd> {
    const streamed = { ...request, ...this.#limit, stream: true, stream_options: { include_usage: true } };
    const { body } = await this.#post('/chat/completions', streamed, signal);
    const end: ReplyEnd = { toolCalls: [], isCut: false, totalTokens: 0 };
    const events = (body ?? new Blob().stream())
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .getReader();
    for (;;) {
      const { value } = await events.read().catch(broken(signal));
      if (!value) throw unreachable('the reply ended early');
      if (value.data === '[DONE]') return end;
      const { choices: [choice] = [], usage, error } = JSON.parse(value.data) as Chunk;
      if (error) throw streamedError(error);
      end.totalTokens = usage?.total_tokens ?? end.totalTokens;
      if (!choice) continue;
      end.isCut ||= choice.finish_reason === 'length';
      for (const { index, ...call } of choice.delta.tool_calls ?? []) {
        const begun = end.toolCalls[index];
        if (begun) begun.function.arguments += call.function.arguments;
        else end.toolCalls[index] = call;
      }
      if (choice.delta.content) yield choice.delta.content;
    }
  }

  #post(path: string, body: object, signal: AbortSignal): Promise<Response> {
    return this.#fetch(path, { method: 'POST', signal, body: writeJson({ model: this.model, ...body }) });
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { baseURL, fetch } = await this.localtext;
    for (let retries = 0; ; retries++) {
      const headers = { authorization: `Bearer ${await this.#key()}`, 'content-type': 'application/json' };
      const response = await fetch(baseURL + path, { ...init, headers }).catch(broken(init.signal));
      if (response.ok) return response;
      if (response.status !== 429 || retries === MAX_RETRIES) {
        const { error } = (await response.json().catch(() => ({}))) as Pick<Chunk, 'error'>;
        throw new V1Error(response.status, error);
      }
      await delay(1000 * Number(response.headers.get('retry-after') ?? 1), init.signal ?? undefined);
    }
  }
}

export const isTooLong = (error: unknown): boolean =>
  error instanceof V1Error && error.code === 'context_length_exceeded';

/** The error of a request that waited for so long that its status was sent before. */
const streamedError = (error: NonNullable<Chunk['error']>): V1Error =>
  new V1Error(error.type === 'invalid_request_error' ? 400 : 500, error);

/** The browser's error for a connection that breaks, as one of `/v1`. */
const broken =
  (signal: AbortSignal | null | undefined) =>
  (error: unknown): never => {
    throw signal?.aborted ? error : unreachable(messageOf(error));
  };

const unreachable = (why: string): V1Error => new V1Error(500, { message: `/v1 cannot be reached: ${why}` });

/** @throws V1Error if nothing is left to shorten */
function halved(messages: readonly V1Message[]): V1Message[] {
  const half = (text: string): string => text.slice(0, Math.ceil(text.length / 2));
  const shorter = messages.map((message) => {
    const { content } = message;
    if (typeof content === 'string') return { ...message, content: half(content) };
    const parts = content.map((part) => (part.type === 'text' ? { ...part, text: half(part.text) } : part));
    return { ...message, content: parts } as V1Message;
  });
  if (JSON.stringify(shorter) === JSON.stringify(messages))
    throw new V1Error(400, { message: 'The input has too many messages.' });
  return shorter;
}
