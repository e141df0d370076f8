import { isNumber, isObject, readJson, writeJson } from '#base';
import type { Content, Message } from './prompt-messages.ts';
import { LanguageModelToolCall, toJson } from './tool-objects.ts';

export interface V1ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

type V1Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/** Message of `/v1`. */
export type V1Message =
  | { role: 'system' | 'user'; content: string | V1Part[] }
  | { role: 'assistant'; content: string; tool_calls?: V1ToolCall[] }
  | { role: 'tool'; content: string; tool_call_id: string };

/** @throws DOMException for an image that cannot be read */
export const toV1Messages = async (messages: readonly Message[]): Promise<V1Message[]> =>
  (await Promise.all(messages.map(toV1))).flat();

/** Converts a message. Each result of a tool becomes a separate one. */
async function toV1({ role, content }: Message): Promise<V1Message[]> {
  const results = content.flatMap((part) =>
    part.type === 'tool-response'
      ? { role: 'tool' as const, tool_call_id: part.value.callID, content: part.text }
      : [],
  );
  const calls = content.flatMap((part) => (part.type === 'tool-call' ? toV1Call(part.value) : []));
  const parts = (await Promise.all(content.map(toV1Part))).flat();
  const text = parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('') : null;
  if (role === 'assistant')
    return [{ role, content: text ?? '', ...(calls.length > 0 && { tool_calls: calls }) }];
  if (results.length > 0 && text === '') return results;
  return [...results, { role, content: text ?? parts }];
}

const toV1Call = ({ callID, name, arguments: given }: LanguageModelToolCall): V1ToolCall => ({
  id: callID,
  type: 'function',
  function: { name, arguments: toJson(given ?? {}) ?? '{}' },
});

export const fromV1Call = ({ id, function: { name, arguments: given } }: V1ToolCall): LanguageModelToolCall =>
  new LanguageModelToolCall({ callID: id, name, arguments: toArguments(given) });

/** Arguments for a tool. An integer beyond 2^53, which a number may round, is a BigInt. @throws SyntaxError */
export function toArguments(json: string): unknown {
  // `readJson()` does not check the text.
  JSON.parse(json);
  return withBigInts(readJson(json));
}

function withBigInts(value: unknown): unknown {
  if (isNumber(value)) {
    const text = writeJson(value);
    return /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? BigInt(text) : Number(text);
  }
  if (Array.isArray(value)) return value.map(withBigInts);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withBigInts(member)]));
}

async function toV1Part(part: Content): Promise<V1Part[]> {
  if (part.type === 'text') return [{ type: 'text', text: part.value }];
  if (part.type !== 'image') return [];
  return [{ type: 'image_url', image_url: { url: await part.value.url } }];
}

/** The messages of a session. */
export class Conversation {
  /** Never dropped. */
  readonly #initial: V1Message[];
  /** An appended prompt, or a prompt and its reply. */
  #exchanges: V1Message[][];
  /** Tokens of all messages. */
  usage: number;

  constructor(initial: V1Message[], usage: number, exchanges: V1Message[][] = []) {
    this.#initial = initial;
    this.#exchanges = exchanges;
    this.usage = usage;
  }

  copy(): Conversation {
    return new Conversation([...this.#initial], this.usage, [...this.#exchanges]);
  }

  get isEmpty(): boolean {
    return this.#initial.length === 0 && this.#exchanges.length === 0;
  }

  get exchanges(): number {
    return this.#exchanges.length;
  }

  /** Messages without the oldest exchanges. */
  messages(dropped = 0): V1Message[] {
    return [...this.#initial, ...this.#exchanges.slice(dropped).flat()];
  }

  /** Adds an exchange in the place of the oldest ones. Results of tools join the exchange of their calls. */
  add(exchange: readonly V1Message[], usage: number, dropped: number): void {
    const system = exchange[0]?.role === 'system' ? 1 : 0;
    this.#initial.push(...exchange.slice(0, system));
    const kept = this.#exchanges.slice(dropped);
    const called = exchange[0]?.role === 'tool' ? (kept.pop() ?? []) : [];
    this.#exchanges = [...kept, [...called, ...exchange.slice(system)]];
    this.usage = usage;
  }
}
