import type { Content, Message } from './prompt-messages.ts';
import { toImageUrl } from './image-url.ts';

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
export const toV1Messages = (messages: readonly Message[]): Promise<V1Message[]> =>
  Promise.all(messages.map(toV1Message));

async function toV1Message({ role, content }: Message): Promise<V1Message> {
  const [first] = content;
  if (content.length === 1 && first?.type === 'text') return { role, content: first.value };
  return { role: role as 'user', content: await Promise.all(content.map(toV1Part)) };
}

const toV1Part = async (part: Content): Promise<V1Part> =>
  part.type === 'text'
    ? { type: 'text', text: part.value }
    : { type: 'image_url', image_url: { url: await toImageUrl(part.value) } };

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

  drop(exchanges: number): void {
    this.#exchanges = this.#exchanges.slice(exchanges);
  }

  add(exchange: readonly V1Message[], usage: number): void {
    const system = exchange[0]?.role === 'system' ? 1 : 0;
    this.#initial.push(...exchange.slice(0, system));
    this.#exchanges.push(exchange.slice(system));
    this.usage = usage;
  }
}
