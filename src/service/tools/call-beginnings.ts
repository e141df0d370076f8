import { TextSearch } from '../reply-parts.ts';
import type { CallableTools } from './callable-tools.ts';
import { TOOL_CALL_MARK } from './tool-prompt.ts';

/**
 * Places where a call may begin, by the last character and the gap after it. At other places, code and prose
 * look like calls.
 */
const ANYWHERE = /^/;
const NEW_LINE_OR_SENTENCE = /^[\p{Sentence_Terminal}…:：\p{Cs}]?\s?$|\n/u;
/** `\p{Cs}` is the second half of an emoji. */
const NEW_SENTENCE = /^[\p{Sentence_Terminal}…\p{Cs}]?\s?$|^[:："”」*]\n$/u;
const REPLY_START = /^\s?$/;

/** Beginnings of calls. A space stands for any white space, `#` for a digit. */
interface Beginnings {
  after: RegExp;
  texts: string[];
}

/** Openings of a call. Models sometimes omit the mark, and start with a list or a block of code. */
const OPENINGS = ['', '[ ', '```json ', '```json [ '];

const ANY_CALL: Beginnings[] = [
  // Marks that models write before calls in their own form.
  { after: ANYWHERE, texts: [TOOL_CALL_MARK, '<tool_calls>', '<TOOLCALL>', 'functools['] },
  { after: NEW_SENTENCE, texts: ['{ "arguments" : {', '[ { "arguments" : {'] },
  { after: REPLY_START, texts: ['```json { "arguments" : {', '```json [ { "arguments" : {'] },
];

/**
 * The beginnings of a call of a function, in JSON and in the forms of Cohere, LFM2, Mistral, Gemma 4, Kimi
 * and Qwen's models for code. A control token before them is never in a reply.
 */
const beginningsOf = (name: string): Beginnings[] => [
  {
    after: ANYWHERE,
    texts: [
      ...OPENINGS.flatMap((opening) =>
        ['', '"type" : "function" , '].map((type) => `${opening}{ ${type}"name" : "${name}"`),
      ),
      `[ { "tool_name" : "${name}"`,
      `<function=${name}>`,
    ],
  },
  { after: NEW_LINE_OR_SENTENCE, texts: [`${name}{"`, `call:${name}{`, `functions.${name}:#`] },
  { after: NEW_SENTENCE, texts: [`[ ${name}(`] },
  { after: REPLY_START, texts: [`${name} {"`] },
];

/** Beginnings by their characters: those of hundreds of functions begin alike. */
interface BeginningTree {
  next: Map<string, BeginningTree>;
  isWhole: boolean;
}

function treeOf(texts: readonly string[]): BeginningTree {
  const root: BeginningTree = { next: new Map(), isWhole: false };
  for (const text of texts) {
    let tree = root;
    for (const character of text.split('')) {
      const next = tree.next.get(character) ?? { next: new Map(), isWhole: false };
      tree.next.set(character, next);
      tree = next;
    }
    tree.isWhole = true;
  }
  return root;
}

/** A beginning that the last characters may belong to. */
interface Candidate {
  tree: BeginningTree;
  /** Position of its first character in the text. */
  start: number;
}

/** Maximum length of a beginning: its white space may never end. */
const MAX_LENGTH = 256;

/** Cuts a reply at the beginning of a call. */
export class CallBeginnings extends TextSearch {
  readonly #beginnings: { after: RegExp; tree: BeginningTree }[];
  #candidates: Candidate[] = [];
  /**
   * The reply's last visible character, if there is one; then a line break or a space for the white space
   * since.
   */
  #lastAndGap = '';

  constructor({ functions }: Pick<CallableTools, 'functions'>) {
    super();
    const all = [...ANY_CALL, ...functions.flatMap(({ name }) => beginningsOf(name))];
    this.#beginnings = [...new Set(all.map(({ after }) => after))].map((after) => ({
      after,
      tree: treeOf(all.flatMap((each) => (each.after === after ? each.texts : []))),
    }));
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
    this.#candidates = this.#candidates.flatMap(({ tree, start }) =>
      index - start < MAX_LENGTH ? continued(tree, character).map((next) => ({ tree: next, start })) : [],
    );
    for (const { after, tree } of this.#beginnings) {
      const begun = tree.next.get(character);
      if (begun && after.test(this.#lastAndGap)) this.#candidates.push({ tree: begun, start: index });
    }
    const whole = this.#lastAndGap + character;
    this.#lastAndGap = character.trim() || whole.trim() + (whole.includes('\n') ? '\n' : ' ');
    return this.#candidates.find(({ tree }) => tree.isWhole)?.start;
  }
}

/** Where beginnings continue with this character. */
function continued(tree: BeginningTree, character: string): BeginningTree[] {
  const gap = tree.next.get(' ');
  if (gap && character.trim() === '') return [tree];
  const after = (each: BeginningTree | undefined): BeginningTree | undefined =>
    each?.next.get(character) ?? (/\d/.test(character) ? each?.next.get('#') : undefined);
  return [after(tree), after(gap)].filter((each) => each !== undefined);
}
