import { completeIn } from '#base';
import type { EngineFinishReason, TokenLogprob } from '#jobs';
import type { CallableTools } from './callable-tools.ts';
import { CUSTOM_INPUT, type ToolName } from './tool-function.ts';
import { TextReader, type ReplyPart, type ReplyReader } from '../reply-parts.ts';

const HEAD = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\\p{Cc}]|\\["\\/])*")\s*,\s*"arguments"\s*:\s*(?=\S)/u;

/** Longer texts are no longer searched for a call, which would take quadratic time. */
const MAX_SEARCHED = 4096;

/** Parses a list of calls (`[{"name":…,"arguments":…},…]`) while it is written. */
export class CallReader implements ReplyReader {
  readonly ended = null;
  readonly #maxCalls: number;
  readonly #tools: ReadonlyMap<string, ToolName>;
  #calls = 0;
  /** Text of the custom tool that is called; null: a function is called. */
  #input: CustomInput | null = null;
  /** Text between the arguments of two calls; null: within arguments. */
  #between: string | null = '';
  #depth = 0;
  #inString = false;
  #escaped = false;

  /**
   * @param tools `maxCalls`: later calls, from a server that does not enforce the form, are left out
   */
  constructor({ functions, maxCalls }: Pick<CallableTools, 'functions' | 'maxCalls'>) {
    this.#maxCalls = maxCalls;
    this.#tools = new Map(functions.map(({ name, tool }) => [name, tool]));
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
    const name = JSON.parse(head[1]) as string;
    // A server may call a function that it was not given.
    const tool: ToolName = this.#tools.get(name) ?? { kind: 'function', name };
    this.#input = tool.kind === 'custom' ? new CustomInput() : null;
    parts.push({ type: 'call', call: this.#calls, id: newCallId(), tool });
    this.#calls++;
    return between.slice(start + head[0].length);
  }

  #readArguments(text: string, parts: ReplyPart[]): string {
    const end = this.#endOfValue(text);
    const json = text.slice(0, end);
    const piece = this.#input ? this.#input.push(json, this.#between !== null) : json;
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

const INPUT_HEAD = new RegExp(String.raw`^\s*\{\s*"${CUSTOM_INPUT}"\s*:\s*"`);
/** Longer beginnings than this have another form. */
const MAX_INPUT_HEAD = 256;

/** Reads the text in the arguments of a custom tool while they are written. */
class CustomInput {
  #rest = '';
  #state: 'before' | 'inside' | 'after' | 'other' = 'before';

  /** @param isEnd whether the arguments are complete */
  push(json: string, isEnd: boolean): string {
    this.#rest += json;
    if (this.#state === 'before') this.#readHead(isEnd);
    if (this.#state === 'inside') return this.#decoded();
    const text = this.#state === 'other' ? this.#rest : '';
    if (this.#state !== 'before') this.#rest = '';
    return text;
  }

  #readHead(isEnd: boolean): void {
    const head = INPUT_HEAD.exec(this.#rest);
    if (head) {
      this.#state = 'inside';
      this.#rest = this.#rest.slice(head[0].length);
    } else if (isEnd || this.#rest.length > MAX_INPUT_HEAD) {
      // Some servers ignore the required form.
      this.#state = 'other';
    }
  }

  #decoded(): string {
    const escaped = completeIn(this.#rest);
    if (this.#rest[escaped.length] === '"') this.#state = 'after';
    this.#rest = this.#state === 'after' ? '' : this.#rest.slice(escaped.length);
    try {
      return JSON.parse(`"${escaped}"`) as string;
    } catch {
      return escaped;
    }
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
