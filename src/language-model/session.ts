import { abortable, Mutex } from '#base';
import { SAMPLING_MODES, type SamplingMode } from '#jobs';
import {
  type Conversation,
  fromV1Call,
  toArguments,
  toV1Messages,
  type V1Message,
  type V1ToolCall,
} from './conversation.ts';
import { inputTypes, type CoreOptions } from './create-options.ts';
import { EventHandler } from './event-handler.ts';
import { iterable } from './iterable-stream.ts';
import { isActive } from './document-policy.ts';
import { invalidState, promptException, quotaExceeded } from './exceptions.ts';
import { toMessages, toRawMessages, type Content, type RawMessage } from './prompt-messages.ts';
import { toPromptOptions, type PromptOptions } from './prompt-options.ts';
import { JsonStringDecoder, withPrefix, type Constraint } from './response-constraint.ts';
import type { Tool } from './tools.ts';
import { toDictionary, toSignal, toText } from './web-idl.ts';
import { isTooLong, V1Client, type ReplyEnd, type V1Request } from './v1-client.ts';

export interface SessionParts {
  client: V1Client;
  options: CoreOptions;
  conversation: Conversation;
  contextWindow: number;
  /** Destroys the session. */
  signal?: AbortSignal | undefined;
}

type Chunk = string | Extract<Content, { type: 'tool-call' }>;
type OnChunk = (chunk: Chunk) => void;

/** A prompt, ready for `/v1`. */
interface Prompt {
  /** Its messages; during tool calls, also these and their results. */
  exchange: V1Message[];
  constraint: Constraint | null;
  /** Begin of the reply, which the page has given. */
  prefix: string;
  /** Whether the prefix is the last message of the exchange. */
  isContinued: boolean;
  /** Number of oldest exchanges that must go for this one. */
  dropped: number;
}

/** Rounds of tool calls after which the model must answer in text. */
const MAX_ROUNDS = 8;
const TOP_P = 0.9;

/** Methods and attributes of a `LanguageModel`, after the Prompt API's draft. */
export class Session extends EventTarget {
  readonly #parts: SessionParts;
  readonly #destruction = new AbortController();
  /** Prompts and appends wait for those before them. */
  readonly #queue = new Mutex();
  readonly #onContextOverflow = new EventHandler(this, 'contextoverflow');

  constructor(parts: SessionParts) {
    // Scripts have no client.
    if (!(parts?.client instanceof V1Client)) throw new TypeError('Illegal constructor');
    super();
    this.#parts = parts;
    const { signal } = parts;
    signal?.addEventListener('abort', () => this.#destruction.abort(signal.reason));
  }

  /** The reply; text and calls, if the model calls tools that the page runs. */
  async prompt(input: unknown, options?: unknown): Promise<string | Content[]> {
    requireArgument(arguments.length);
    const raw = toRawMessages(input);
    const promptOptions = toPromptOptions(options);
    const chunks: Chunk[] = [];
    await this.#run(promptOptions.signal, (signal) =>
      this.#prompt(raw, promptOptions, signal, (chunk) => void chunks.push(chunk)),
    );
    const calls = chunks.filter((chunk) => typeof chunk !== 'string');
    const text = chunks.filter((chunk) => typeof chunk === 'string').join('');
    if (calls.length === 0) return text;
    return text === '' ? calls : [{ type: 'text', value: text }, ...calls];
  }

  promptStreaming(input: unknown, options?: unknown): ReadableStream<Chunk> {
    requireArgument(arguments.length);
    const raw = toRawMessages(input);
    const promptOptions = toPromptOptions(options);
    if (!isActive()) throw invalidState();
    const cancelled = new AbortController();
    const signal = AbortSignal.any([cancelled.signal, this.#signal(promptOptions.signal)]);
    signal.throwIfAborted();
    const stream = new ReadableStream<Chunk>({
      start: (controller) => {
        const onChunk: OnChunk = (chunk) => {
          if (!signal.aborted) controller.enqueue(chunk);
        };
        this.#run(signal, (running) => this.#prompt(raw, promptOptions, running, onChunk)).then(
          () => cancelled.signal.aborted || controller.close(),
          (error: unknown) => controller.error(error),
        );
      },
      cancel: () => cancelled.abort(),
    });
    return iterable(stream);
  }

  async append(input: unknown, options?: unknown): Promise<undefined> {
    requireArgument(arguments.length);
    const raw = toRawMessages(input);
    const own = signalOf(options);
    await this.#run(own, async (signal) => {
      const exchange = await this.#read(raw);
      const { usage, dropped } = await this.#findRoom(exchange, signal);
      signal.throwIfAborted();
      this.#add(exchange, usage, dropped);
    });
  }

  async measureContextUsage(input: unknown, options?: unknown): Promise<number> {
    requireArgument(arguments.length);
    const promptOptions = toPromptOptions(options);
    const messages = toMessages(toRawMessages(input), inputTypes(this.#parts.options), false);
    return this.#guard(promptOptions.signal, async (signal) => {
      const asked = withGuidance(await toV1Messages(messages), promptOptions.guidance);
      const { conversation } = this.#parts;
      // Results of tools need the calls before them.
      if (asked[0]?.role === 'tool') {
        const all = await this.#count([...conversation.messages(), ...asked], signal);
        return Math.max(0, all - conversation.usage);
      }
      const all = await this.#count(asked, signal);
      if (conversation.isEmpty || asked[0]?.role === 'system') return all;
      // The session's usage has these tokens already: of the chat template and of the tools.
      return all - (await this.#count([{ role: 'user', content: '' }], signal));
    });
  }

  async clone(options?: unknown): Promise<this> {
    const own = signalOf(options);
    return this.#guard(own, async () => {
      const { conversation, ...parts } = this.#parts;
      const Class = this.constructor as new (parts: SessionParts) => this;
      // Queue behind what has begun.
      await this.#queue.run(async () => undefined);
      // The signal of `create()` destroys only the session that it has created.
      return new Class({ ...parts, signal: undefined, conversation: conversation.copy() });
    });
  }

  destroy(): undefined {
    this.#destruction.abort(new DOMException('The session was destroyed.', 'AbortError'));
  }

  get contextUsage(): number {
    return this.#parts.conversation.usage;
  }

  get contextWindow(): number {
    return this.#parts.contextWindow;
  }

  get samplingMode(): SamplingMode {
    return this.#parts.options.samplingMode;
  }

  get oncontextoverflow(): unknown {
    return this.#onContextOverflow.value;
  }

  set oncontextoverflow(handler: unknown) {
    this.#onContextOverflow.value = handler;
  }

  #signal(own: AbortSignal | undefined): AbortSignal {
    const { signal } = this.#destruction;
    return own ? AbortSignal.any([signal, own]) : signal;
  }

  /** Runs a task until the session is destroyed or the caller aborts. @throws the reason; DOMException */
  async #guard<T>(own: AbortSignal | undefined, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (!isActive()) throw invalidState();
    const signal = this.#signal(own);
    signal.throwIfAborted();
    try {
      return await abortable(task(signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw promptException(error);
    }
  }

  /** Like `#guard()`, after the session's earlier prompts. */
  #run<T>(own: AbortSignal | undefined, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#guard(own, (signal) =>
      // A tool that does not end must not hold the queue after an abort.
      this.#queue.run(() => abortable(task(signal), signal), signal),
    );
  }

  #read(raw: readonly RawMessage[]): Promise<V1Message[]> {
    const { options, conversation } = this.#parts;
    return toV1Messages(toMessages(raw, inputTypes(options), !conversation.isEmpty));
  }

  async #prompt(
    raw: readonly RawMessage[],
    { constraint, guidance }: PromptOptions,
    signal: AbortSignal,
    onChunk: OnChunk,
  ): Promise<void> {
    const input = await this.#read(raw);
    const last = raw.at(-1)?.prefix ? input.at(-1) : undefined;
    const prefix = last?.role === 'assistant' ? last.content : '';
    // Text under a constraint is JSON for `/v1`, which cannot continue text: it repeats the prefix.
    const isContinued = prefix !== '' && !constraint?.isText;
    const messages = last && !isContinued ? await this.#read(raw.slice(0, -1)) : input;
    const prompt: Prompt = {
      exchange: withGuidance(messages, guidance),
      constraint: last && constraint ? withPrefix(constraint, prefix) : constraint,
      prefix,
      isContinued,
      dropped: 0,
    };
    let content = prefix;
    const { totalTokens, toolCalls } = await this.#answer(prompt, signal, (chunk) => {
      if (typeof chunk === 'string') content += chunk;
      onChunk(chunk);
    });
    signal.throwIfAborted();
    const exchange = prompt.isContinued ? prompt.exchange.slice(0, -1) : prompt.exchange;
    const reply = {
      role: 'assistant' as const,
      content,
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    };
    this.#add([...exchange, reply], totalTokens, prompt.dropped);
  }

  /** Streams the reply. Calls the tools that the session can call itself, until the model answers in text. */
  async #answer(prompt: Prompt, signal: AbortSignal, onChunk: OnChunk): Promise<ReplyEnd> {
    for (let round = 1; ; round++) {
      const end = await this.#stream(prompt, round > MAX_ROUNDS, signal, onChunk);
      const { toolCalls } = end;
      if (toolCalls.length === 0) return end;
      if (!toolCalls.every((call) => this.#toolOf(call).execute)) {
        for (const call of toolCalls) onChunk({ type: 'tool-call', value: fromV1Call(call) });
        return end;
      }
      const results = await Promise.all(toolCalls.map((call) => this.#call(call)));
      // The reply continues the prefix after the calls, too.
      const at = prompt.exchange.length - (prompt.isContinued ? 1 : 0);
      const calls = { role: 'assistant' as const, content: '', tool_calls: toolCalls };
      prompt.exchange.splice(at, 0, calls, ...results);
    }
  }

  #toolOf({ function: { name } }: V1ToolCall): Tool {
    const tool = this.#parts.options.tools.find(({ definition }) => definition.name === name);
    if (tool) return tool;
    throw new Error(`The model has called "${name}", which is not among the tools.`);
  }

  /** @throws what the tool throws */
  async #call(call: V1ToolCall): Promise<V1Message> {
    const result = await this.#toolOf(call).execute?.(toArguments(call.function.arguments));
    return { role: 'tool', tool_call_id: call.id, content: toText(result) };
  }

  async #stream(
    prompt: Prompt,
    mustAnswer: boolean,
    signal: AbortSignal,
    onChunk: OnChunk,
  ): Promise<ReplyEnd> {
    const { client, conversation } = this.#parts;
    const { constraint, prefix } = prompt;
    const decoder = constraint?.isText ? new JsonStringDecoder() : null;
    /** Text of the prefix that a constrained reply repeats. */
    let repeated = prompt.isContinued ? 0 : prefix.length;
    let isEmpty = true;
    const request = (): V1Request => ({
      ...this.#request([...conversation.messages(prompt.dropped), ...prompt.exchange]),
      ...(constraint && { guided_json: constraint.schema }),
      ...(prompt.isContinued && { continue_final_message: true }),
      ...(mustAnswer && { tool_choice: 'none' }),
    });
    const read = async (): Promise<ReplyEnd> => {
      const reply = client.stream(request(), signal);
      for (;;) {
        const { done, value } = await reply.next();
        if (done) return value;
        const text = decoder ? decoder.decode(value) : value;
        const added = text.slice(repeated);
        repeated = Math.max(0, repeated - text.length);
        if (added === '') continue;
        isEmpty = false;
        onChunk(added);
      }
    };
    const end = await read().catch(async (error: unknown) => {
      if (!isTooLong(error)) throw error;
      ({ dropped: prompt.dropped } = await this.#findRoom(prompt.exchange, signal));
      return read();
    });
    // `/v1` leaves out a call that is cut off.
    if (!end.isCut || (!constraint && !isEmpty)) return end;
    const message = 'The reply was cut off by `maxTokens` or the end of the context window.';
    throw new DOMException(message, 'SyntaxError');
  }

  #request(messages: V1Message[]): V1Request {
    const { samplingMode, temperature = SAMPLING_MODES[samplingMode], tools } = this.#parts.options;
    return {
      messages,
      ...(tools.length > 0 && {
        tools: tools.map(({ definition }) => ({ type: 'function', function: definition })),
      }),
      temperature,
      top_p: TOP_P,
    };
  }

  #count(messages: V1Message[], signal: AbortSignal): Promise<number> {
    return this.#parts.client.count(this.#request(messages), signal);
  }

  /** How many of the oldest exchanges must go, for the prompt and a token of the reply to fit. @throws DOMException `QuotaExceededError` */
  async #findRoom(exchange: V1Message[], signal: AbortSignal): Promise<{ usage: number; dropped: number }> {
    const { conversation, contextWindow } = this.#parts;
    const count = (dropped: number): Promise<number> =>
      this.#count([...conversation.messages(dropped), ...exchange], signal);
    const all = await count(0);
    if (all < contextWindow) return { usage: all, dropped: 0 };
    // Results of tools need the calls before them.
    let [fewest, dropped] = [1, conversation.exchanges - (exchange[0]?.role === 'tool' ? 1 : 0)];
    let usage = dropped > 0 ? await count(dropped) : all;
    if (usage >= contextWindow) throw quotaExceeded(all, contextWindow);
    while (fewest < dropped) {
      const middle = Math.floor((fewest + dropped) / 2);
      const tokens = await count(middle);
      if (tokens < contextWindow) [dropped, usage] = [middle, tokens];
      else fewest = middle + 1;
    }
    return { usage, dropped };
  }

  /** Adds what has succeeded. What it has no room for goes now: a prompt that fails leaves all. */
  #add(exchange: readonly V1Message[], usage: number, dropped: number): void {
    this.#parts.conversation.add(exchange, usage, dropped);
    if (dropped > 0) this.dispatchEvent(new Event('contextoverflow'));
  }
}

/** The signal of options that have no other member. @throws TypeError */
const signalOf = (options: unknown): AbortSignal | undefined =>
  toSignal(toDictionary(options, 'options')['signal']);

/** Tells the model of a constraint, in the last message of the user. */
function withGuidance(messages: V1Message[], guidance: string): V1Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const message = messages[at];
  if (guidance === '' || message?.role !== 'user') return messages;
  const { content } = message;
  const told =
    typeof content === 'string'
      ? `${content}\n\n${guidance}`
      : [...content, { type: 'text' as const, text: guidance }];
  return messages.with(at, { role: 'user', content: told });
}

function requireArgument(count: number): void {
  if (count === 0) throw new TypeError('1 argument required, but only 0 present.');
}
