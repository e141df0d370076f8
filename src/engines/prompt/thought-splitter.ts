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
  /** The tag that closes the answer has come. */
  #isAnswered = false;

  /** `isInside`: the prompt ends with the opening tag. */
  constructor(tags: ThinkTags, isInside: boolean) {
    this.#tags = tags;
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
    if (this.#isAnswered) return { reasoning: '', text: rest.trimEnd() };
    return this.isInside ? { reasoning: rest.trimEnd(), text: '' } : { reasoning: '', text: rest };
  }

  close(): void {
    this.#state = 'gap';
    this.#withheld = '';
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
    for (let tag = first(answer); tag !== undefined; tag = first(answer))
      answer = answer.slice(tag.length).trimStart();
    const mayBeTag = tags.some((tag) => tag.startsWith(answer));
    this.#state = mayBeTag ? 'gap' : 'answer';
    this.#withheld = mayBeTag ? answer : '';
    return mayBeTag ? '' : this.#answer(answer);
  }

  /** Text of the answer, without the tag that closes it and the space before that. */
  #answer(whole: string): string {
    const { answerTags } = this.#tags;
    if (!answerTags) return whole;
    const [last = '', ...ended] = whole.split(answerTags.close).toReversed();
    this.#isAnswered ||= ended.length > 0;
    const text = last.slice(0, last.length - beginningOf(answerTags.close, last)).trimEnd();
    this.#withheld = last.slice(text.length);
    return [...ended.toReversed().map((part) => part.trimEnd()), text].join('');
  }
}

/** Length of the longest end of `text` that begins `tag`. */
function beginningOf(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
