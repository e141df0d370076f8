import { TextSearch } from '../reply-parts.ts';
import type { CallableTools } from './callable-tools.ts';
import { TOOL_CALL_MARK } from './tool-prompt.ts';

/** Marks that models write before calls in their own form. */
const MARKS = [TOOL_CALL_MARK, '<tool_calls>', '<TOOLCALL>', 'functools[', '{ "arguments" : {'];

/** Models sometimes omit the mark, and start with a list or a block of code. */
const BEFORE = ['', '[ ', '```json ', '```json [ '];

/**
 * The beginnings of a call of a function, in JSON and in the forms of Cohere, LFM2, Mistral, Gemma 4, Kimi and Qwen's
 * models for code. A space stands for any white space. A control token before them is never in a reply.
 */
const beginningsOf = (name: string): string[] => [
  ...BEFORE.flatMap((before) =>
    ['', '"type" : "function" , '].map((type) => `${before}{ ${type}"name" : "${name}"`),
  ),
  `[ { "tool_name" : "${name}"`,
  `[ ${name}(`,
  `${name} {"`,
  `call:${name}{`,
  `functions.${name}:`,
  `<function=${name}>`,
];

/** A beginning that the last characters may belong to. */
interface Candidate {
  beginning: string;
  /** Place of its first character in the text, and how much of it has come. */
  start: number;
  matched: number;
}

/** A longer text is no beginning: white space may never end. */
const MAX_LENGTH = 256;

/** Cuts a reply where it begins a call. */
export class CallBeginnings extends TextSearch {
  readonly #beginnings: readonly string[];
  #candidates: Candidate[] = [];

  constructor({ functions }: Pick<CallableTools, 'functions'>) {
    super();
    this.#beginnings = [...MARKS, ...functions.flatMap(({ name }) => beginningsOf(name))];
  }

  /** The text that may be sent now, and whether a call begins after it. */
  push(text: string): { text: string; isCall: boolean } {
    const whole = this.withheld + text;
    let end: number | undefined;
    for (let index = this.withheld.length; index < whole.length && end === undefined; index++)
      end = this.#startOfCall(whole.charAt(index), index);
    const shown = end ?? this.#candidates[0]?.start ?? whole.length;
    this.withheld = whole.slice(shown);
    for (const candidate of this.#candidates) candidate.start -= shown;
    return { text: whole.slice(0, shown), isCall: end !== undefined };
  }

  /** The start of the beginning that the character at `index` completes. */
  #startOfCall(character: string, index: number): number | undefined {
    for (const beginning of this.#beginnings)
      if (beginning.startsWith(character)) this.#candidates.push({ beginning, start: index, matched: 0 });
    this.#candidates = this.#candidates.filter(
      (candidate) => index - candidate.start < MAX_LENGTH && advance(candidate, character),
    );
    return this.#candidates.find(({ beginning, matched }) => matched === beginning.length)?.start;
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
