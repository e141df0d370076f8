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
    const node = this.#rules.get(name) ?? parse(this.#sources.get(name) ?? '');
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
const CHARACTER = String.raw`\\x[\da-f]{2}|\\u[\da-f]{4}|\\U[\da-f]{8}|\\.|[^]`;
const CHARACTERS = new RegExp(CHARACTER, 'gu');
const RANGES = new RegExp(`(${CHARACTER})(?:-(${CHARACTER}))?`, 'gu');
/** A literal, a class, a rule, a sign or a count. */
const TOKENS =
  /"((?:\\.|[^"\\])*)"|\[(\^?)((?:\\.|[^\]\\])*)\]|([a-z][\w-]*)|([(|)])|\{(\d*)(,?)(\d*)\}|([?*+])/gu;
const COUNTS: Record<string, [min: number, max: number]> = {
  '?': [0, 1],
  '*': [0, Infinity],
  '+': [1, Infinity],
};
const NAMED: Record<string, string> = { n: '\n', r: '\r', t: '\t' };

/** Parses the right side of a rule. */
function parse(text: string): Node {
  const tokens = text.matchAll(TOKENS);
  const next = (): RegExpExecArray | undefined => tokens.next().value;
  const choice = (): Node => {
    let nodes: Node[] = [];
    const choices = [nodes];
    for (let token = next(); token && token[5] !== ')'; token = next()) {
      const [, literal, negation, ranges, name, sign] = token;
      if (sign === '|') choices.push((nodes = []));
      else if (sign === '(') nodes.push(choice());
      else if (name !== undefined) nodes.push({ kind: 'rule', name });
      else if (literal !== undefined) nodes.push(literalOf(literal));
      else if (ranges !== undefined) nodes.push(classOf(negation === '^', ranges));
      else nodes.push(repeated(nodes.pop() ?? EMPTY, token));
    }
    const sequences = choices.map(sequenceOf);
    return sequences.length > 1 ? { kind: 'choice', nodes: sequences } : (sequences[0] ?? EMPTY);
  };
  return choice();
}

function repeated(node: Node, token: RegExpExecArray): Node {
  const [least = '', comma, most = '', mark = ''] = token.slice(6);
  const last = comma ? most : least;
  const [min, max] = COUNTS[mark] ?? [Number(least), last === '' ? Infinity : Number(last)];
  return { kind: 'repeated', node, min, max };
}

const literalOf = (text: string): Node =>
  sequenceOf(
    Array.from(text.matchAll(CHARACTERS), ([character]): Node => {
      const point = pointOf(character);
      return { kind: 'set', isNegated: false, ranges: [[point, point]], text: `"${character}"` };
    }),
  );

function classOf(isNegated: boolean, text: string): Node {
  const ranges = Array.from(
    text.matchAll(RANGES),
    ([, first = '', last = first]) => [pointOf(first), pointOf(last)] as const,
  );
  return { kind: 'set', isNegated, ranges, text: `[${isNegated ? '^' : ''}${text}]` };
}

function pointOf(character: string): number {
  if (/^\\[xuU]/.test(character)) return Number.parseInt(character.slice(2), 16);
  const plain = character.length > 1 && character.startsWith('\\') ? character.slice(1) : character;
  return (plain === character ? plain : (NAMED[plain] ?? plain)).codePointAt(0) ?? 0;
}
