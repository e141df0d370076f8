import { undecidedLength } from '#base';
import type { ThinkTags } from './think-tags.ts';

export interface SplitText {
  reasoning: string;
  text: string;
}

const NOTHING: SplitText = { reasoning: '', text: '' };

/**
 * Splits a reply by the tags around its reasoning. A tag may span several pushed texts. Space next to a tag is
 * dropped. Text is withheld only while it may be part of a tag, or the space before one.
 */
export class ThoughtSplitter {
  readonly #tags: ThinkTags;
  /** `start`: an opening tag may come; `gap`: between the closing tag and the answer. */
  #state: 'start' | 'inside' | 'gap' | 'answer';
  #withheld = '';
  #thoughts = '';
  #hasThoughts = false;
  /** Whether a tag opened the answer, which may then end with the closing tag. */
  #isOpened: boolean;

  /**
   * @param isInside whether the prompt ends with the opening tag
   * @param isOpened whether the answer's opening tag came earlier
   */
  constructor(tags: ThinkTags, isInside: boolean, isOpened = false) {
    this.#tags = tags;
    this.#isOpened = isOpened;
    this.#state = isInside ? 'inside' : 'start';
  }

  /** Whether the reasoning has not ended. */
  get isInside(): boolean {
    return this.#state === 'inside';
  }

  /** Generated text up to the end of the reasoning, without the closing tag or a possible start of it. */
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

  /** Returns withheld text once the reply has ended. */
  flush(): SplitText {
    const rest = this.#withheld;
    this.#withheld = '';
    if (this.#isOpened && rest.trim() === this.#tags.answerTags?.close) return NOTHING;
    return this.isInside ? { reasoning: rest.trimEnd(), text: '' } : { reasoning: '', text: rest };
  }

  /** Notes that the closing tag was put into the prompt: the answer follows. */
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
    const end = at === -1 ? whole.length - undecidedLength(whole, [close]) : at;
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

  /** Skips repeated closing tags, which some models write, and the tag that opens the answer. */
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

  /** Returns answer text. Withholds a possible closing tag at its end, with the space beside it. */
  #answer(whole: string): string {
    const { answerTags } = this.#tags;
    if (!answerTags || !this.#isOpened) return whole;
    const { close } = answerTags;
    // A tag may contain a space, at which the pushed text may end.
    const trimmed = undecidedLength(whole, [close]) > 0 ? whole : whole.trimEnd();
    const length = trimmed.endsWith(close) ? close.length : undecidedLength(trimmed, [close]);
    const text = trimmed.slice(0, trimmed.length - length).trimEnd();
    this.#withheld = whole.slice(text.length);
    return text;
  }
}
