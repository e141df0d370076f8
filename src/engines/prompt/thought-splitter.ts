import type { ThinkTags } from './think-tags.ts';

export interface SplitText {
  reasoning: string;
  text: string;
}

/** Splits a reply into thoughts and answer while it is written. */
export interface ReplySplitter {
  /** The thoughts have not ended. */
  readonly isInside: boolean;
  /** The reply as generated, up to the end of its thoughts: without the closing tag, and what may begin one. */
  readonly thoughts: string;
  push(text: string): SplitText;
  /** Text that was withheld, when the reply has ended. */
  flush(): SplitText;
  /** The closing tag was put into the prompt: the answer follows. */
  close(): void;
}

const NOTHING: SplitText = { reasoning: '', text: '' };

/**
 * Splits a reply by the tags around its thoughts. Tags may be split anywhere. Space next to a tag belongs to neither. Text is
 * withheld only while it may be part of a tag, or the space before one.
 */
export class ThoughtSplitter implements ReplySplitter {
  readonly #tags: ThinkTags;
  /** `start`: an opening tag may come; `gap`: between the closing tag and the answer. */
  #state: 'start' | 'inside' | 'gap' | 'answer';
  #withheld = '';
  #thoughts = '';
  #hasThoughts = false;
  /** The answer was opened by its tag, and may end with the closing one. */
  #isOpened: boolean;

  /** `isInside`: the prompt ends with the opening tag; `isOpened`: the answer's tag came in an earlier part of the reply. */
  constructor(tags: ThinkTags, isInside: boolean, isOpened = false) {
    this.#tags = tags;
    this.#isOpened = isOpened;
    this.#state = isInside ? 'inside' : 'start';
  }

  get isInside(): boolean {
    return this.#state === 'inside';
  }

  get thoughts(): string {
    return this.#thoughts;
  }

  push(text: string): SplitText {
    switch (this.#state) {
      case 'answer':
        return { reasoning: '', text: this.#answer(this.#withheld + text) };
      case 'start':
        return this.#start(this.#withheld + text);
      case 'inside':
        return this.#inside(this.#withheld + text);
      case 'gap':
        return { reasoning: '', text: this.#gap(this.#withheld + text) };
    }
  }

  flush(): SplitText {
    const rest = this.#withheld;
    this.#withheld = '';
    if (this.#isOpened && rest.trim() === this.#tags.answerTags?.close) return NOTHING;
    return this.isInside ? { reasoning: rest.trimEnd(), text: '' } : { reasoning: '', text: rest };
  }

  close(): void {
    this.#state = 'gap';
    this.#withheld = '';
    this.#noteOpening(this.#tags.close);
  }

  #start(whole: string): SplitText {
    const { open, answerTags } = this.#tags;
    const begun = whole.trimStart();
    if (begun.startsWith(open)) {
      this.#state = 'inside';
      this.#withheld = '';
      this.#thoughts = whole.slice(0, whole.length - begun.length + open.length);
      return this.#inside(begun.slice(open.length));
    }
    if (answerTags && begun.startsWith(answerTags.open)) return { reasoning: '', text: this.#gap(begun) };
    const mayOpen = open.startsWith(begun) || answerTags?.open.startsWith(begun) === true;
    this.#withheld = mayOpen ? whole : '';
    if (mayOpen) return NOTHING;
    this.#state = 'answer';
    return { reasoning: '', text: this.#answer(whole) };
  }

  #inside(whole: string): SplitText {
    const { close } = this.#tags;
    const at = whole.indexOf(close);
    const end = at === -1 ? whole.length - beginningOf(close, whole) : at;
    const reasoning = this.#shown(whole.slice(0, end));
    this.#withheld = at === -1 ? whole.slice(whole.slice(0, end).trimEnd().length) : '';
    this.#thoughts += whole.slice(0, at === -1 ? whole.length - this.#withheld.length : at);
    if (at === -1) return { reasoning, text: '' };
    this.#state = 'gap';
    this.#noteOpening(close);
    return { reasoning, text: this.#gap(whole.slice(at + close.length)) };
  }

  #shown(text: string): string {
    const shown = this.#hasThoughts ? text.trimEnd() : text.trim();
    this.#hasThoughts ||= shown !== '';
    return shown;
  }

  /** Skips a second closing tag, which some models write, and the tag that opens the answer. */
  #gap(whole: string): string {
    const { close, answerTags } = this.#tags;
    const tags = answerTags ? [close, answerTags.open] : [close];
    const first = (text: string): string | undefined => tags.find((tag) => text.startsWith(tag));
    let answer = whole.trimStart();
    for (let tag = first(answer); tag !== undefined; tag = first(answer)) {
      this.#noteOpening(tag);
      answer = answer.slice(tag.length).trimStart();
    }
    const mayBeTag = tags.some((tag) => tag.startsWith(answer));
    this.#state = mayBeTag ? 'gap' : 'answer';
    this.#withheld = mayBeTag ? answer : '';
    return mayBeTag ? '' : this.#answer(answer);
  }

  /** The tag that closes the thoughts may open the answer. */
  #noteOpening(tag: string): void {
    this.#isOpened ||= tag === this.#tags.answerTags?.open;
  }

  /** Text of the answer. Withholds the tag that closes it where the reply may end there, and the space beside it. */
  #answer(whole: string): string {
    const { answerTags } = this.#tags;
    if (!answerTags || !this.#isOpened) return whole;
    const { close } = answerTags;
    // A tag may have a space in it, at which a part of the text may end.
    const trimmed = beginningOf(close, whole) > 0 ? whole : whole.trimEnd();
    const length = trimmed.endsWith(close) ? close.length : beginningOf(close, trimmed);
    const text = trimmed.slice(0, trimmed.length - length).trimEnd();
    this.#withheld = whole.slice(text.length);
    return text;
  }
}

/** Length of the longest end of `text` that begins `tag`. */
function beginningOf(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
