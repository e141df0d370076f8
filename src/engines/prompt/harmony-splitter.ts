import type { ReplySplitter, SplitText } from './thought-splitter.ts';

/** Ends the head of a message. */
const MESSAGE = '<|message|>';
const CHANNEL = '<|channel|>';
const START = '<|start|>';
/** Ends of a message. A model may omit `<|end|>` and begin the next message. */
const ENDS = ['<|end|>', START, CHANNEL];
/** Beginnings of a message head. The prompt ends with `<|start|>assistant`, so a reply's first head lacks it. */
const HEADS = [CHANNEL, `${START}assistant`, 'to='];
/** Maximum length of a head. Longer text is part of the answer. */
const MAX_HEAD = 300;
/** Matches the function that a message calls. */
const CALL = /\bto=functions\.([\w.-]+)/;

/**
 * Splits a reply in the harmony format, a sequence of messages in channels. Messages of the `analysis` channel are
 * reasoning. Function calls are rewritten in the notation of other models.
 */
export class HarmonySplitter implements ReplySplitter {
  #state: 'head' | 'analysis' | 'preamble' | 'call' | 'answer';
  #withheld = '';
  /** All generated text. */
  #raw = '';
  #thoughtsEnd = 0;
  #hasThoughts: boolean;

  /** @param isInside whether the prompt ends with the head of an `analysis` message */
  constructor(isInside: boolean) {
    this.#state = isInside ? 'analysis' : 'head';
    this.#hasThoughts = isInside;
  }

  get isInside(): boolean {
    return this.#state === 'analysis' || (this.#state === 'head' && this.#hasThoughts);
  }

  get thoughts(): string {
    return this.#raw.slice(0, this.#thoughtsEnd);
  }

  push(text: string): SplitText {
    this.#raw += text;
    const split = { reasoning: '', text: '' };
    let rest = this.#withheld + text;
    this.#withheld = '';
    while (rest !== '') rest = this.#state === 'head' ? this.#head(rest, split) : this.#body(rest, split);
    return split;
  }

  flush(): SplitText {
    const rest = this.#withheld;
    this.#withheld = '';
    switch (this.#state) {
      case 'analysis':
        return { reasoning: rest, text: '' };
      case 'call':
        return { reasoning: '', text: `${rest}}\n</tool_call>` };
      case 'head':
        // A reply that is cut off inside a head has no more text.
        return { reasoning: '', text: this.#hasThoughts || rest.startsWith('<') ? '' : rest };
      default:
        return { reasoning: '', text: rest };
    }
  }

  close(): void {
    this.#state = 'answer';
    this.#withheld = '';
  }

  /** Reads a head. @returns the text after it */
  #head(whole: string, split: SplitText): string {
    const head = whole.trimStart();
    const isHead = HEADS.some((start) => head.startsWith(start) || start.startsWith(head));
    const end = head.indexOf(MESSAGE);
    if (!isHead || (end === -1 && whole.length > MAX_HEAD)) {
      this.#state = 'answer';
      return whole;
    }
    if (end === -1) {
      this.#withheld = whole;
      return '';
    }
    this.#enter(head.slice(0, end), split);
    const body = head.slice(end + MESSAGE.length);
    if (this.#state === 'analysis') this.#thoughtsEnd = this.#raw.length - body.length;
    return body;
  }

  #enter(head: string, split: SplitText): void {
    const called = CALL.exec(head)?.[1];
    if (called !== undefined) {
      this.#state = 'call';
      split.text += `<tool_call>\n{"name": ${JSON.stringify(called)}, "arguments": `;
    } else if (head.includes(`${CHANNEL}analysis`)) {
      if (this.#hasThoughts) split.reasoning += '\n\n';
      this.#state = 'analysis';
      this.#hasThoughts = true;
    } else this.#state = head.includes(`${CHANNEL}commentary`) ? 'preamble' : 'answer';
  }

  /** Reads a message's body. @returns the text after it */
  #body(whole: string, split: SplitText): string {
    if (this.#state === 'answer') {
      split.text += whole;
      return '';
    }
    const ends = ENDS.map((end) => whole.indexOf(end)).filter((at) => at >= 0);
    const at = ends.length > 0 ? Math.min(...ends) : whole.length - partialEnd(whole);
    const shown = whole.slice(0, at);
    const isThought = this.#state === 'analysis';
    split[isThought ? 'reasoning' : 'text'] += shown;
    if (isThought) this.#thoughtsEnd += shown.length;
    if (ends.length === 0) {
      this.#withheld = whole.slice(at);
      return '';
    }
    if (this.#state === 'call') split.text += '}\n</tool_call>\n';
    this.#state = 'head';
    const rest = whole.slice(at);
    return rest.startsWith(ENDS[0] ?? '') ? rest.slice(ENDS[0]?.length) : rest;
  }
}

/** Length of the longest suffix of a text that is a prefix of a message's end. */
function partialEnd(text: string): number {
  const from = text.lastIndexOf('<');
  const last = from === -1 ? '' : text.slice(from);
  return last !== '' && ENDS.some((end) => end.startsWith(last)) ? last.length : 0;
}
