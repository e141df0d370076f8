import { conflicting } from '#base';
import { MAX_CHARACTERS } from './grammar.ts';

/** Part of a grammar, as its text has it; a rest, once characters of it were read. */
type Node =
  | { kind: 'set'; isNegated: boolean; ranges: readonly (readonly [number, number])[]; text: string }
  | { kind: 'rule'; name: string }
  | { kind: 'sequence' | 'choice'; nodes: readonly Node[] }
  | { kind: 'repeated'; node: Node; min: number; max: number };

const EMPTY: Node = { kind: 'sequence', nodes: [] };

/** Maximum parts of the grammar that are read or copied, which takes some tenths of a second. */
const MAX_STEPS = 2_000_000;

/**
 * The grammar of what may follow a text: of the texts of a grammar that begin with it.
 * @param gbnf a grammar of `compileSchema()`, which has a rule on each line
 * @throws ServiceError 400 if no text of the grammar begins so, or the rest is too large
 */
export function continueGrammar(gbnf: string, begun: string): string {
  const lines = gbnf.split('\n');
  const rest = new Derivation(lines).after(begun);
  if (!rest)
    throw conflicting('continue_final_message', 'continues a text with which no value of the schema begins');
  const root = `root ::= ${printed(rest)}`;
  if (root.length > MAX_CHARACTERS) throw tooCostly();
  return [root, ...lines.slice(1)].join('\n');
}

const tooCostly = () =>
  conflicting(
    'continue_final_message',
    'continues a text that is too long, or too ambiguous, under a schema',
  );

/** Reads a text by a grammar, character by character: Brzozowski's derivatives, with rules. */
class Derivation {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #rules = new Map<string, Node>();
  readonly #empty = new Map<string, boolean>();
  #steps = 0;

  constructor(lines: readonly string[]) {
    this.#sources = new Map(
      lines.map((line) => {
        const [name = ''] = line.split(' ', 1);
        return [name, line.slice(name.length + ' ::= '.length)];
      }),
    );
  }

  after(text: string): Node | null {
    let rest: Node | null = this.#rule('root');
    for (const character of text) rest &&= this.#derive(rest, character.codePointAt(0) ?? 0);
    return rest;
  }

  #rule(name: string): Node {
    const node = this.#rules.get(name) ?? new Parser(this.#sources.get(name) ?? '').choice();
    this.#rules.set(name, node);
    return node;
  }

  #derive(node: Node, point: number): Node | null {
    if (++this.#steps > MAX_STEPS) throw tooCostly();
    switch (node.kind) {
      case 'set': {
        const isIn = node.ranges.some(([first, last]) => first <= point && point <= last);
        return isIn === node.isNegated ? null : EMPTY;
      }
      case 'rule':
        return this.#derive(this.#rule(node.name), point);
      case 'choice':
        return choiceOf(node.nodes.map((each) => this.#derive(each, point)));
      case 'repeated': {
        const { node: inner, min, max } = node;
        const rest = max > 0 ? this.#derive(inner, point) : null;
        return rest && sequenceOf([rest, { ...node, min: Math.max(0, min - 1), max: max - 1 }]);
      }
      case 'sequence': {
        const choices: (Node | null)[] = [];
        // Nested arrays make it long.
        this.#steps += node.nodes.length;
        for (const [index, each] of node.nodes.entries()) {
          const rest = this.#derive(each, point);
          choices.push(rest && sequenceOf([rest, ...node.nodes.slice(index + 1)]));
          if (!this.#mayBeEmpty(each)) break;
        }
        return choiceOf(choices);
      }
    }
  }

  #mayBeEmpty(node: Node): boolean {
    switch (node.kind) {
      case 'set':
        return false;
      case 'rule': {
        const known = this.#empty.get(node.name);
        if (known !== undefined) return known;
        this.#empty.set(node.name, false);
        const isEmpty = this.#mayBeEmpty(this.#rule(node.name));
        this.#empty.set(node.name, isEmpty);
        return isEmpty;
      }
      case 'choice':
        return node.nodes.some((each) => this.#mayBeEmpty(each));
      case 'sequence':
        return node.nodes.every((each) => this.#mayBeEmpty(each));
      case 'repeated':
        return node.min === 0 || this.#mayBeEmpty(node.node);
    }
  }
}

function choiceOf(nodes: readonly (Node | null)[]): Node | null {
  const possible = nodes.flatMap((node) => (node?.kind === 'choice' ? node.nodes : (node ?? [])));
  return possible.length > 1 ? { kind: 'choice', nodes: possible } : (possible[0] ?? null);
}

function sequenceOf(nodes: readonly Node[]): Node {
  const flat = nodes.flatMap((node) => (node.kind === 'sequence' ? node.nodes : node));
  const [only] = flat;
  return flat.length === 1 && only ? only : { kind: 'sequence', nodes: flat };
}

function printed(node: Node): string {
  switch (node.kind) {
    case 'set':
      return node.text;
    case 'rule':
      return node.name;
    case 'choice':
      return `(${node.nodes.map(printed).join(' | ')})`;
    case 'sequence':
      return node.nodes.length === 0 ? '""' : node.nodes.map(printed).join(' ');
    case 'repeated':
      return `(${printed(node.node)}){${node.min},${node.max === Infinity ? '' : node.max}}`;
  }
}

/** A character, as a literal or a class writes it. */
const CHARACTER = /\\x[\da-f]{2}|\\u[\da-f]{4}|\\U[\da-f]{8}|\\.|[^]/uy;
const NAMED: Record<string, string> = { n: '\n', r: '\r', t: '\t' };

/** Parses the right side of a rule. */
class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  choice(): Node {
    const nodes = [this.#sequence()];
    while (this.#take(/ *\| */y)) nodes.push(this.#sequence());
    return nodes.length > 1 ? { kind: 'choice', nodes } : (nodes[0] ?? EMPTY);
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    for (let node = this.#item(); node; node = this.#item()) nodes.push(node);
    return sequenceOf(nodes);
  }

  #item(): Node | null {
    this.#take(/ +/y);
    const node = this.#atom();
    if (!node) return null;
    const count = this.#take(/\{(\d*),?(\d*)\}|[?*+]/y);
    if (!count) return node;
    const [mark, min = '', max = ''] = count;
    if (mark === '?') return { kind: 'repeated', node, min: 0, max: 1 };
    if (mark === '*' || mark === '+')
      return { kind: 'repeated', node, min: mark === '+' ? 1 : 0, max: Infinity };
    const most = mark.includes(',') ? max : min;
    return { kind: 'repeated', node, min: Number(min), max: most === '' ? Infinity : Number(most) };
  }

  #atom(): Node | null {
    if (this.#take(/\(/y)) {
      const node = this.choice();
      this.#take(/ *\)/y);
      return node;
    }
    if (this.#take(/"/y)) {
      const nodes: Node[] = [];
      while (!this.#take(/"/y)) nodes.push(this.#character());
      return sequenceOf(nodes);
    }
    if (this.#take(/\[/y)) return this.#class();
    const name = this.#take(/[a-z][\w-]*/y);
    return name && { kind: 'rule', name: name[0] };
  }

  #character(): Node {
    const from = this.#at;
    const point = this.#point();
    const text = `"${this.#text.slice(from, this.#at)}"`;
    return { kind: 'set', isNegated: false, ranges: [[point, point]], text };
  }

  #class(): Node {
    const from = this.#at - 1;
    const isNegated = this.#take(/\^/y) !== null;
    const ranges: [number, number][] = [];
    while (!this.#take(/\]/y)) {
      const first = this.#point();
      ranges.push([first, this.#take(/-(?!\])/y) ? this.#point() : first]);
    }
    return { kind: 'set', isNegated, ranges, text: this.#text.slice(from, this.#at) };
  }

  #point(): number {
    const [character = ''] = this.#take(CHARACTER) ?? [];
    if (character === '') throw new Error('The grammar ends within a literal.');
    if (/^\\[xuU]/.test(character)) return Number.parseInt(character.slice(2), 16);
    const [, escaped] = /^\\(.)/u.exec(character) ?? [];
    return (escaped === undefined ? character : (NAMED[escaped] ?? escaped)).codePointAt(0) ?? 0;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }
}
