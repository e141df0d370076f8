import { literal } from '#base';
import { complement, contains, type Ranges } from './code-points.ts';
import { type AutomatonState, TooCostlyError } from './language.ts';
import { MAX_INTEGER_DIGITS } from './numbers.ts';

/** Rule of a grammar: alternatives, each of which is a sequence. */
export interface Rule {
  id: number;
  alternatives: Item[][];
}

/** Terminals as GBNF writes them, a rule, or a rule several times. */
type Item = string | Rule | { rule: Rule; min: number; max: number };

const MAX_RULES = 8000;
export const MAX_CHARACTERS = 400_000;
/** Maximum characters of a class that is written inline. A longer class becomes a rule. */
const MAX_INLINE = 100;
/** Maximum repetitions: the engine makes a rule of each. */
const MAX_REPETITIONS = 20_000;
/** Maximum minimum of repetitions: llama.cpp refuses a higher one. */
const MAX_LEAST = 2000;

/** Space between tokens of JSON: none, one, or a new line that is indented. */
const SPACE = String.raw`ws ::= (" " | "\n" [ \t]{0,16})?`;
const PLAIN = String.raw`char ::= [^"\\\x00-\x1f] | "\\" ["\\bfnrt]`;
const INTEGER = `integer ::= "-"? ("0" | [1-9] [0-9]{0,${MAX_INTEGER_DIGITS - 1}})`;
const NUMBER = String.raw`number ::= integer ("." [0-9]{1,15})? ([eE] ("+" | "-")? [0-9]{1,2})?`;
export const WS = 'ws';
export const CHARACTER = 'char';
export const ANY_INTEGER = 'integer';
export const ANY_NUMBER = 'number';

export class Grammar {
  readonly #rules: Rule[] = [];
  readonly #classes = new Map<string, Rule>();
  /** Items that stand for a character of a set. */
  readonly #terminals = { inString: new Map<Ranges, Item>(), outside: new Map<Ranges, Item>() };
  #repetitions = 0;

  rule(alternatives: Item[][] = []): Rule {
    if (this.#rules.length >= MAX_RULES) throw new TooCostlyError();
    const rule = { id: this.#rules.length, alternatives };
    this.#rules.push(rule);
    return rule;
  }

  /** `max` Infinity: any number of times. */
  repeated(item: string, min: number, max: number): string {
    if (min > MAX_LEAST)
      return `${this.repeated(item, MAX_LEAST, MAX_LEAST)} ${this.repeated(item, min - MAX_LEAST, max - MAX_LEAST)}`;
    this.#repetitions += max === Infinity ? min : max;
    if (this.#repetitions > MAX_REPETITIONS) throw new TooCostlyError();
    return `${item}{${min},${max === Infinity ? '' : max}}`;
  }

  repeatedRule(rule: Rule, min: number, max: number): Item {
    this.repeated('', min, max);
    return { rule, min, max };
  }

  /** One character of a set; a long class, such as that of all letters, is written once. */
  #terminal(ranges: Ranges, isString: boolean): Item {
    const terminals = isString ? this.#terminals.inString : this.#terminals.outside;
    const known = terminals.get(ranges);
    if (known !== undefined) return known;
    const text = terminal(ranges, isString);
    const item = text.length <= MAX_INLINE ? text : this.#classRule(text);
    terminals.set(ranges, item);
    return item;
  }

  #classRule(text: string): Rule {
    const rule = this.#classes.get(text) ?? this.rule([[text]]);
    this.#classes.set(text, rule);
    return rule;
  }

  /**
   * @param isString the automaton reads the characters of a JSON string, and the quote that ends it is part
   *   of the rule
   */
  ofAutomaton(states: readonly AutomatonState[], isString: boolean): Rule {
    const rules = states.map((): Rule | null => null);
    const end = isString ? ['"\\""'] : [];
    const open: number[] = [];
    const ruleOf = (index: number): Rule => {
      const known = rules[index];
      if (known) return known;
      open.push(index);
      return (rules[index] = this.rule());
    };
    /** Adds states with a single successor to one sequence. */
    const follow = (index: number): Item[] => {
      const items: Item[] = [];
      const passed = new Set<number>();
      for (let at = index; ;) {
        const state = states[at];
        const [only] = state?.next ?? [];
        if (!state || passed.has(at)) return [...items, ruleOf(at)];
        if (state.next.length === 0 && state.accepts) return [...items, ...end];
        if (state.accepts || state.next.length !== 1 || !only) return [...items, ruleOf(at)];
        passed.add(at);
        items.push(this.#terminal(only.ranges, isString));
        at = only.to;
      }
    };
    const first = ruleOf(0);
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      const state = states[index];
      const rule = rules[index];
      if (!state || !rule) continue;
      for (const { ranges, to } of state.next)
        rule.alternatives.push([this.#terminal(ranges, isString), ...follow(to)]);
      if (state.accepts) rule.alternatives.push(end.length > 0 ? end : ['""']);
    }
    return first;
  }

  /**
   * GBNF; null: no text follows the root. Alternatives that no text can complete are left out.
   * @throws TooCostlyError
   */
  print(root: Rule): string | null {
    const productive = this.#productive();
    if (!productive.has(root)) return null;
    const lines = [`root ::= ${nameOf(root)}`];
    const used = new Set([root]);
    let length = 0;
    for (const rule of used) {
      const alternatives = rule.alternatives.filter((items) => completes(items, productive));
      for (const item of alternatives.flat()) {
        const inner = ruleIn(item);
        // llama.cpp refuses a rule without alternatives.
        if (inner && productive.has(inner)) used.add(inner);
      }
      const line = `${nameOf(rule)} ::= ${alternatives.map((items) => printed(items, productive)).join(' | ')}`;
      length += line.length;
      if (length > MAX_CHARACTERS) throw new TooCostlyError();
      lines.push(line);
    }
    return [...lines, SPACE, PLAIN, INTEGER, NUMBER, ''].join('\n');
  }

  /** The first rule that no text completes, with the rules within it that are the reason. */
  impossible(rules: readonly Rule[]): Rule[] {
    const productive = this.#productive();
    const reasons = new Set<Rule>();
    let rule: Rule | null | undefined = rules.find((each) => !productive.has(each));
    // An optional member is left out in its last alternative, which then shows the true reason.
    while (rule && !reasons.has(rule)) {
      reasons.add(rule);
      rule = rule.alternatives
        .at(-1)
        ?.map(ruleIn)
        .find((inner) => inner && !productive.has(inner));
    }
    return [...reasons];
  }

  /** The rules that some text completes. */
  #productive(): Set<Rule> {
    const productive = new Set<Rule>();
    for (let size = -1; size !== productive.size;) {
      size = productive.size;
      for (const rule of this.#rules.toReversed())
        if (rule.alternatives.some((items) => completes(items, productive))) productive.add(rule);
    }
    return productive;
  }
}

const nameOf = ({ id }: Rule): string => `r${id}`;

const ruleIn = (item: Item): Rule | null =>
  typeof item === 'string' ? null : 'rule' in item ? item.rule : item;

const completes = (items: readonly Item[], productive: ReadonlySet<Rule>): boolean =>
  items.every((item) => {
    const rule = ruleIn(item);
    return !rule || productive.has(rule) || (typeof item === 'object' && 'min' in item && item.min === 0);
  });

const printed = (items: readonly Item[], productive: ReadonlySet<Rule>): string =>
  items
    .map((item) => {
      if (typeof item === 'string') return item;
      if (!('rule' in item)) return nameOf(item);
      if (!productive.has(item.rule)) return '""';
      return `${nameOf(item.rule)}{${item.min},${item.max === Infinity ? '' : item.max}}`;
    })
    .join(' ');

const CONTROLS: Ranges = [0, 0x1f];
const QUOTE_AND_BACKSLASH: Ranges = [0x22, 0x22, 0x5c, 0x5c];
/** Characters that JSON writes as a backslash and a letter. */
const SHORT_ESCAPES = { '"': '"', '\\': '\\\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' };

/** Terminal for one character of a set. In a string, characters that JSON escapes are written as escapes. */
function terminal(ranges: Ranges, isString: boolean): string {
  if (!isString) return characterClass(ranges);
  const raw = complement([...CONTROLS, ...QUOTE_AND_BACKSLASH], ranges);
  const short = Object.entries(SHORT_ESCAPES).flatMap(([character, letter]) =>
    contains(ranges, character.charCodeAt(0)) ? letter : [],
  );
  const options: string[] = [];
  if (raw.length > 0) options.push(characterClass(raw));
  if (short.length > 0) options.push(`"\\\\" [${short.join('')}]`);
  if (options.length === 0) {
    const [point = 0] = ranges;
    options.push(literal(`\\u${point.toString(16).padStart(4, '0')}`));
  }
  return options.length === 1 ? (options[0] ?? '') : `(${options.join(' | ')})`;
}

function characterClass(ranges: Ranges): string {
  let text = '';
  for (let i = 0; i < ranges.length; i += 2) {
    const [first = 0, last = 0] = [ranges[i], ranges[i + 1]];
    text += first === last ? escaped(first) : `${escaped(first)}-${escaped(last)}`;
  }
  return `[${text}]`;
}

function escaped(point: number): string {
  const character = String.fromCodePoint(point);
  if (/[A-Za-z0-9 ]/.test(character)) return character;
  const hex = point.toString(16);
  if (point < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
