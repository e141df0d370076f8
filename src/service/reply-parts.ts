import type { Accepted, EngineFinishReason, TokenLogprob } from '#jobs';
import { TokenTexts, undecidedLength } from '#base';
import type { ToolName } from './tools/tool-function.ts';

/** A piece of a reply, in the order in which the model writes. */
export type ReplyPart =
  | { type: 'text'; text: string; logprobs: TokenLogprob[] }
  /** Reasoning before the answer. */
  | { type: 'reasoning'; text: string }
  | { type: 'call'; call: number; id: string; tool: ToolName }
  /** The next piece of that call's arguments: JSON text, or the text of a custom tool. */
  | { type: 'arguments'; call: number; text: string };

export type FinishReason = EngineFinishReason | 'tool_calls';

/** Event of one choice: `accepted` once, its parts, `finished` once. */
export type ChoiceEvent = { index: number } & (
  { type: 'accepted'; accepted: Accepted } | ReplyPart | { type: 'finished'; reason: FinishReason }
);

/** Turns an engine's text into parts. */
export interface ReplyReader {
  /**
   * Reason why the reply ends before the engine does. `call`: a call begins, which is generated under its
   * schema.
   */
  readonly ended: 'stop' | 'call' | null;
  push(text: string, logprobs?: readonly TokenLogprob[]): ReplyPart[];
  /** The rest, when the engine has ended. */
  flush(reason: EngineFinishReason): ReplyPart[];
}

/** Searches a reply while it is written. Text that may begin a match is withheld until that is decided. */
export abstract class TextSearch {
  protected withheld = '';

  /** Whether there is text that has been pushed and not sent. */
  get withholds(): boolean {
    return this.withheld !== '';
  }

  /** The withheld text, when the reply has ended. */
  flush(): string {
    const text = this.withheld;
    this.withheld = '';
    return text;
  }
}

/** Finds the beginning of a call in a text. */
interface CallSearch extends TextSearch {
  /** Text that may be sent now, and whether a call begins after it. */
  push(text: string): { text: string; isCall: boolean };
}

/** Reads text up to a stop sequence, or up to the beginning of a call. */
export class TextReader implements ReplyReader {
  ended: 'stop' | 'call' | null = null;
  readonly #stops: StopSequences;
  readonly #calls: CallSearch | null;
  readonly #logprobs = new LogprobQueue();

  /** @param calls null if the reply cannot contain calls */
  constructor(stop: readonly string[], calls: CallSearch | null = null) {
    this.#stops = new StopSequences(stop);
    this.#calls = calls;
  }

  push(text: string, logprobs: readonly TokenLogprob[] = []): ReplyPart[] {
    this.#logprobs.push(logprobs);
    const shown = this.#shown(text);
    const isMore = this.#stops.withholds || this.#calls?.withholds || this.ended !== null;
    return toParts(shown, this.#logprobs.take(shown, isMore));
  }

  flush(): ReplyPart[] {
    const rest = (this.#calls?.flush() ?? '') + this.#stops.flush();
    return toParts(rest, this.#logprobs.rest());
  }

  #shown(text: string): string {
    const { text: whole, stop } = this.#stops.push(text);
    const { text: shown, isCall } = this.#calls?.push(whole) ?? { text: whole, isCall: false };
    if (isCall) this.ended = 'call';
    if (isCall || stop === null) return shown;
    this.ended = 'stop';
    return shown + (this.#calls?.flush() ?? '');
  }
}

const toParts = (text: string, logprobs: TokenLogprob[]): ReplyPart[] =>
  text === '' && logprobs.length === 0 ? [] : [{ type: 'text', text, logprobs }];

/**
 * Log probabilities of tokens whose text is withheld or ends in a partial character. They are sent or dropped
 * with the text.
 */
class LogprobQueue {
  readonly #texts = new TokenTexts();
  /** `size`: characters that the token completes; null: it is the beginning of one. */
  readonly #waiting: { logprob: TokenLogprob; size: number | null }[] = [];
  /** Characters shown beyond the tokens taken so far. */
  #surplus = 0;

  push(logprobs: readonly TokenLogprob[]): void {
    for (const logprob of logprobs) {
      const size = this.#texts.next(logprob).length;
      this.#waiting.push({ logprob, size: size === 0 && logprob.bytes?.length ? null : size });
    }
  }

  /** The tokens whose whole text has been shown. Lengths are compared only while there is `more` to show. */
  take(text: string, more: boolean): TokenLogprob[] {
    let room = this.#surplus + text.length;
    let count = 0;
    for (const [index, { size }] of this.#waiting.entries()) {
      if (size === null) continue;
      if (more && size > room) break;
      room -= size;
      count = index + 1;
    }
    this.#surplus = more ? room : 0;
    return this.#splice(count);
  }

  rest(): TokenLogprob[] {
    this.#surplus = 0;
    return this.#splice();
  }

  #splice(count = this.#waiting.length): TokenLogprob[] {
    return this.#waiting.splice(0, count).map(({ logprob }) => logprob);
  }
}

/** Cuts a reply at the first stop sequence, even if that spans deltas. */
export class StopSequences extends TextSearch {
  readonly #sequences: readonly string[];

  constructor(sequences: readonly string[]) {
    super();
    this.#sequences = sequences;
  }

  /** Text that may be sent now. `stop`: this sequence was found, and nothing after it is sent. */
  push(text: string): { text: string; stop: string | null } {
    if (this.#sequences.length === 0) return { text, stop: null };
    const whole = this.withheld + text;
    // The sequence that ends first stops the reply, in whatever pieces its text comes; of several, the longest.
    const [found] = this.#sequences
      .map((stop) => ({ stop, at: whole.indexOf(stop) }))
      .filter(({ at }) => at >= 0)
      .toSorted((a, b) => a.at + a.stop.length - (b.at + b.stop.length) || a.at - b.at);
    if (found) {
      this.withheld = '';
      return { text: whole.slice(0, found.at), stop: found.stop };
    }
    const shown = whole.length - undecidedLength(whole, this.#sequences);
    this.withheld = whole.slice(shown);
    return { text: whole.slice(0, shown), stop: null };
  }
}
