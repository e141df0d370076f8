import type { EngineFinishReason, TokenLogprob } from '#jobs';
import type { CallableTools } from './callable-tools.ts';
import { TextReader, type FinishReason, type ReplyPart, type ReplyReader } from '../reply-parts.ts';

const HEAD = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\\p{Cc}]|\\["\\/])*")\s*,\s*"arguments"\s*:\s*(?=\S)/u;

/** Longer texts are no longer searched for a call, which would take quadratic time. */
const MAX_SEARCHED = 4096;

/** Parses a list of calls (`[{"name":…,"arguments":…},…]`) while it is written. */
export class CallReader implements ReplyReader {
  readonly ended = null;
  readonly #isNamed: boolean;
  readonly #maxCalls: number;
  #calls = 0;
  /** Text between the arguments of two calls; null: within arguments. */
  #between: string | null = '';
  #depth = 0;
  #inString = false;
  #escaped = false;

  /**
   * @param tools `isNamed`: the request names the function, and OpenAI then reports `stop`; `maxCalls`: later
   *   calls, from a server that does not enforce the form, are left out
   */
  constructor({ isNamed, maxCalls }: Pick<CallableTools, 'isNamed' | 'maxCalls'>) {
    this.#isNamed = isNamed;
    this.#maxCalls = maxCalls;
  }

  push(text: string): ReplyPart[] {
    const parts: ReplyPart[] = [];
    for (let rest = text; rest !== '';) {
      if (this.#between === null) rest = this.#readArguments(rest, parts);
      else rest = this.#calls < this.#maxCalls ? this.#readHead(rest, parts) : '';
    }
    return parts;
  }

  /** Returns a reply without a call as text: some servers ignore the required form. */
  flush(reason: EngineFinishReason): ReplyPart[] {
    const text = this.#between;
    // Nothing, or a call that was cut off.
    if (!text || this.#calls > 0 || (reason !== 'stop' && /^\s*\[/.test(text))) return [];
    return [{ type: 'text', text, logprobs: [] }];
  }

  finishReason(reason: EngineFinishReason): FinishReason {
    return reason === 'stop' && !this.#isNamed && this.#calls > 0 ? 'tool_calls' : reason;
  }

  #readHead(text: string, parts: ReplyPart[]): string {
    const before = this.#between ?? '';
    const between = before + text;
    const start = before.length > MAX_SEARCHED ? -1 : between.indexOf('{');
    const head = start === -1 ? null : HEAD.exec(between.slice(start));
    if (!head?.[1]) {
      this.#between = between;
      return '';
    }
    this.#between = null;
    parts.push({ type: 'call', call: this.#calls, id: newCallId(), name: JSON.parse(head[1]) as string });
    this.#calls++;
    return between.slice(start + head[0].length);
  }

  #readArguments(text: string, parts: ReplyPart[]): string {
    const end = this.#endOfValue(text);
    const piece = text.slice(0, end);
    if (piece !== '') parts.push({ type: 'arguments', call: this.#calls - 1, text: piece });
    return text.slice(end);
  }

  /** Finds the index after the arguments, which are one JSON value. */
  #endOfValue(text: string): number {
    for (let index = 0; index < text.length; index++) {
      const character = text.charAt(index);
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) {
        if (character === '\\') this.#escaped = true;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') this.#inString = true;
      else if (character === '{' || character === '[') this.#depth++;
      else if (character === '}' || character === ']') {
        this.#depth--;
        if (this.#depth > 0) continue;
        this.#between = '';
        // The closing bracket does not belong to a scalar value.
        const end = this.#depth === 0 ? index + 1 : index;
        this.#depth = 0;
        return end;
      }
    }
    return text.length;
  }
}

/**
 * Reads a reply whose schema allows both forms. The first character decides: a list of calls, or an answer.
 */
export class CallOrTextReader implements ReplyReader {
  readonly #stop: readonly string[];
  readonly #tools: CallableTools;
  #beginning = '';
  readonly #logprobs: TokenLogprob[] = [];
  #reader: ReplyReader | null = null;

  constructor(stop: readonly string[], tools: CallableTools) {
    this.#stop = stop;
    this.#tools = tools;
  }

  get ended(): ReplyReader['ended'] {
    return this.#reader?.ended ?? null;
  }

  push(text: string, logprobs: readonly TokenLogprob[] = []): ReplyPart[] {
    if (this.#reader) return this.#reader.push(text, logprobs);
    this.#beginning += text;
    this.#logprobs.push(...logprobs);
    const first = text.trimStart().charAt(0);
    if (first === '' && this.#beginning.length <= MAX_SEARCHED) return [];
    this.#reader = first === '[' ? new CallReader(this.#tools) : new TextReader(this.#stop);
    return this.#reader.push(this.#beginning, this.#logprobs);
  }

  flush(reason: EngineFinishReason): ReplyPart[] {
    return this.#reader?.flush(reason) ?? [];
  }

  finishReason(reason: EngineFinishReason): FinishReason {
    return this.#reader?.finishReason(reason) ?? reason;
  }
}

const ID_LENGTH = 9;

/**
 * A unique id, which a tool's result refers to. Chat templates of the Mistral family accept nine letters and
 * digits only.
 */
function newCallId(): string {
  const random = crypto.getRandomValues(new Uint32Array(ID_LENGTH));
  return Array.from(random, (value) => (value % 36).toString(36)).join('');
}
