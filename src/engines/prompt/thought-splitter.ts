/** Tags that a model writes around its reasoning. */
export interface ThinkTags {
  open: string;
  close: string;
}

/** Tags of Gemma 4. */
const CHANNEL: ThinkTags = { open: '<|channel>thought', close: '<channel|>' };

/** The tags in the text of a chat template; null: the model does not think. */
export function thinkTags(template: string): ThinkTags | null {
  if (template.includes(CHANNEL.close)) return CHANNEL;
  const name = /<\/(think(?:ing)?)>/.exec(template)?.[1];
  return name === undefined ? null : { open: `<${name}>`, close: `</${name}>` };
}

export interface SplitText {
  reasoning: string;
  text: string;
}

const NOTHING: SplitText = { reasoning: '', text: '' };

/**
 * Splits a reply into thoughts and answer while it is written. Tags may be split anywhere. Space next to a tag belongs to
 * neither. Text is withheld only while it may be part of a tag, or the space before one.
 */
export class ThoughtSplitter {
  readonly #tags: ThinkTags;
  /** `start`: an opening tag may come; `gap`: between the closing tag and the answer. */
  #state: 'start' | 'inside' | 'gap' | 'answer';
  #withheld = '';
  #hasThoughts = false;

  /** `isInside`: the prompt ends with the opening tag. */
  constructor(tags: ThinkTags, isInside: boolean) {
    this.#tags = tags;
    this.#state = isInside ? 'inside' : 'start';
  }

  /** The closing tag has not come. */
  get isInside(): boolean {
    return this.#state === 'inside';
  }

  /** Text not yet known to be thoughts or answer. */
  get withheld(): string {
    return this.#withheld;
  }

  push(text: string): SplitText {
    switch (this.#state) {
      case 'answer':
        return { reasoning: '', text };
      case 'start':
        return this.#start(this.#withheld + text);
      case 'inside':
        return this.#inside(this.#withheld + text);
      case 'gap':
        return { reasoning: '', text: this.#gap(this.#withheld + text) };
    }
  }

  /** The withheld text, when the reply has ended. */
  flush(): SplitText {
    const rest = this.#withheld;
    this.#withheld = '';
    return this.isInside ? { reasoning: rest.trimEnd(), text: '' } : { reasoning: '', text: rest };
  }

  /** The closing tag was put into the prompt: the answer follows. */
  close(): void {
    this.#state = 'gap';
    this.#withheld = '';
  }

  #start(whole: string): SplitText {
    const { open } = this.#tags;
    const begun = whole.trimStart();
    if (begun.startsWith(open)) {
      this.#state = 'inside';
      this.#withheld = '';
      return this.#inside(begun.slice(open.length));
    }
    const mayOpen = open.startsWith(begun);
    this.#withheld = mayOpen ? whole : '';
    if (mayOpen) return NOTHING;
    this.#state = 'answer';
    return { reasoning: '', text: whole };
  }

  #inside(whole: string): SplitText {
    const { close } = this.#tags;
    const at = whole.indexOf(close);
    const end = at === -1 ? whole.length - beginningOf(close, whole) : at;
    const reasoning = this.#shown(whole.slice(0, end));
    this.#withheld = at === -1 ? whole.slice(whole.slice(0, end).trimEnd().length) : '';
    if (at === -1) return { reasoning, text: '' };
    this.#state = 'gap';
    return { reasoning, text: this.#gap(whole.slice(at + close.length)) };
  }

  #shown(text: string): string {
    const shown = this.#hasThoughts ? text.trimEnd() : text.trim();
    this.#hasThoughts ||= shown !== '';
    return shown;
  }

  /** Skips a second closing tag, which some models write. */
  #gap(whole: string): string {
    const { close } = this.#tags;
    let answer = whole.trimStart();
    while (answer.startsWith(close)) answer = answer.slice(close.length).trimStart();
    const mayClose = close.startsWith(answer);
    this.#withheld = mayClose ? answer : '';
    if (mayClose) return '';
    this.#state = 'answer';
    return answer;
  }
}

/** Length of the longest end of `text` that begins `tag`. */
function beginningOf(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
