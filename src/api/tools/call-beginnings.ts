import type { CallableTools } from './callable-tools.ts';
import { TOOL_CALL_MARK } from './tool-prompt.ts';

/** Marks that models write before calls in their own form. */
const MARKS = [
  TOOL_CALL_MARK,
  '<tool_calls>',
  '<TOOLCALL>',
  '<seed:tool_call>',
  '<minimax:tool_call>',
  'functools[',
  '{ "arguments" : {',
];

/** Models forget the mark, and begin a list, or a block of code, with the call itself. */
const BEFORE = ['', '[', '```json', '```json ['];

/**
 * The beginnings of a call of a function, in JSON and in the forms of Cohere, LFM2, Mistral, Gemma 4, Kimi and Qwen's
 * models for code. A space stands for any white space. A control token before them is never in a reply.
 */
const beginningsOf = (name: string): string[] => [
  ...BEFORE.flatMap((before) => [
    `${before} { "name" : "${name}"`,
    `${before} { "type" : "function" , "name" : "${name}"`,
    `${before} { "tool_name" : "${name}"`,
  ]),
  `[ ${name}(`,
  `${name} {"`,
  `call:${name}{`,
  `functions.${name}:`,
  `<function=${name}>`,
];

/** A beginning that may be at hand. */
interface Candidate {
  beginning: string;
  /** Its first character in the text, and how much of it has come. */
  start: number;
  matched: number;
}

/** A longer text is no beginning: white space may never end. */
const MAX_LENGTH = 256;

/** Cuts a reply where it begins a call. Text that may be such a beginning is withheld until that is known. */
export class CallBeginnings {
  readonly #byFirst = new Map<string, string[]>();
  #candidates: Candidate[] = [];
  #withheld = '';

  constructor({ functions }: Pick<CallableTools, 'functions'>) {
    for (const beginning of [...MARKS, ...functions.flatMap(({ name }) => beginningsOf(name))]) {
      const text = beginning.trimStart();
      const first = text.charAt(0);
      this.#byFirst.set(first, [...(this.#byFirst.get(first) ?? []), text]);
    }
  }

  /** The text that may be sent now, and whether a call begins after it. */
  push(text: string): { text: string; isCall: boolean } {
    const whole = this.#withheld + text;
    for (let index = this.#withheld.length; index < whole.length; index++) {
      const found = this.#read(whole.charAt(index), index);
      if (found) {
        this.#withheld = '';
        return { text: whole.slice(0, found.start), isCall: true };
      }
    }
    const shown = this.#candidates[0]?.start ?? whole.length;
    this.#withheld = whole.slice(shown);
    for (const candidate of this.#candidates) candidate.start -= shown;
    return { text: whole.slice(0, shown), isCall: false };
  }

  /** Whether there is text that has been pushed and not sent. */
  get withholds(): boolean {
    return this.#withheld !== '';
  }

  /** The withheld text, when the reply has ended. */
  flush(): string {
    const text = this.#withheld;
    this.#withheld = '';
    return text;
  }

  /** The first candidate that the character completes. */
  #read(character: string, index: number): Candidate | undefined {
    for (const beginning of this.#byFirst.get(character) ?? [])
      this.#candidates.push({ beginning, start: index, matched: 0 });
    if (this.#candidates.length === 0) return undefined;
    this.#candidates = this.#candidates.filter(
      (candidate) => index - candidate.start < MAX_LENGTH && advance(candidate, character),
    );
    return this.#candidates.find(({ beginning, matched }) => matched === beginning.length);
  }
}

/** Whether the candidate goes on with this character. */
function advance(candidate: Candidate, character: string): boolean {
  const { beginning, matched } = candidate;
  const isSpace = beginning[matched] === ' ';
  if (isSpace && character.trim() === '') return true;
  const next = isSpace ? matched + 1 : matched;
  candidate.matched = next + 1;
  return beginning[next] === character;
}
