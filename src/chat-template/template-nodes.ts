/**
 * Jinja's syntax that @huggingface/jinja lacks, as changes of its syntax tree.
 * @remarks
 * - Relies on: the types and fields of the tree's nodes; `evaluate()` being called for each node, and giving values with
 *   `type` and `value` (`bounded-template.ts`).
 * - Read in: @huggingface/jinja 0.5.11, `src/ast.ts` and `src/runtime.ts`.
 * - Notices: `templates.test.ts`, which compares prompts with Python's Jinja.
 * - Then: a template is refused, or its prompt differs.
 */
import { Interpreter, parse, type Template, tokenize } from '@huggingface/jinja';

import { TEXT_FILTERS, TEXT_METHODS } from './template-texts.ts';

export type Program = Template['parsed'];
export type Value = ReturnType<Interpreter['evaluate']>;
type Tokens = ReturnType<typeof tokenize>;

/** A node of a parsed template. */
export interface Node {
  type: string;
  /** Set for what a loop iterates over: `attributes` if the loop only reads attributes of the items. */
  [LOOPED]?: 'any' | 'attributes';
  [OPERATION]?: Operation;
  /** Set for what is compared: without the marks of clients' characters. */
  [COMPARED]?: true;
  /** Set if the node's value is written into the text. */
  [SHOWN]?: true;
  operator?: { type: string; value: string };
  left?: Node;
  right?: Node;
  object?: Node;
  property?: Node;
  computed?: boolean;
  callee?: Node;
  args?: Node[];
  operand?: Node;
  filter?: Node;
  lhs?: Node;
  iterable?: Node;
  loopvar?: Node;
  body?: Node[];
  alternate?: Node[];
  /** Shown if the loop has no rounds. */
  defaultBlock?: Node[];
  key?: Node;
  value?: unknown;
}

/** An operation of a template that the library does not support. */
export interface Operation {
  kind: 'attribute' | 'equality' | 'method' | 'text filter' | 'list filter' | 'operator' | 'to text';
  name: string;
  /** The text or list to operate on. */
  operand: Node;
  args: readonly Node[];
  /** The original node with `HELD` in place of its operand, for operands that the library supports. */
  otherwise: Node;
}

/** Marks nodes that a loop iterates over. */
export const LOOPED = Symbol('looped');
/** Marks nodes of blocks, whose values are written into the text. */
export const SHOWN = Symbol('shown');
/** Marks nodes that are compared. */
export const COMPARED = Symbol('compared');
/** Marks nodes that the library cannot evaluate. */
export const OPERATION = Symbol('operation');

/** Maximum depth of an attribute path. */
const MAX_PATH = 100;

/** Maximum depth of nested loops whose variables are analysed. */
const MAX_LOOPS = 20;

/** Names that no template can use. */
export const KEY = 'a key';
export const HELD = 'a held value';

/** Parses a chat template as Jinja does. @throws Error if it is not a template */
export function parseTemplate(template: string): Program {
  const tokens = tokenize(withoutCarriageReturns(template), { lstrip_blocks: true, trim_blocks: true });
  const program = parse(withArgumentsOfTests(tokens));
  allowWhatJinjaAllows(program as Node);
  return program;
}

/** Normalizes line ends to `\n`, as Jinja does. */
const withoutCarriageReturns = (template: string): string => template.replaceAll(/\r\n?/g, '\n');

/** Operators by the names of their tests. */
const OPERATORS = new Map([
  ['eq', '=='],
  ['equalto', '=='],
  ['sameas', '=='],
  ['ne', '!='],
  ['lt', '<'],
  ['lessthan', '<'],
  ['le', '<='],
  ['gt', '>'],
  ['greaterthan', '>'],
  ['ge', '>='],
  ['in', 'in'],
]);
const COMPARISONS: ReadonlySet<string> = new Set([...OPERATORS.values(), 'not in']);
const isOwnTest = (name: string): boolean => name === 'float' || OPERATORS.has(name);

const NOT = 'not ';
/** Prefix of the name of a filter that stands for a test. No template can use it. */
const TEST = 'is ';

/** Rewrites `x is eq(y)` as a filter, as the parser does not support arguments of tests. */
function withArgumentsOfTests(tokens: Tokens): Tokens {
  const read: Tokens = [];
  for (let at = 0; at < tokens.length; at++) {
    const [token, before] = [tokens[at], tokens[at - 1]];
    if (!token) break;
    const isNegated = tokens[at + 1]?.value === 'not';
    const test = tokens[at + (isNegated ? 2 : 1)];
    const isTest = isWord(token, 'is') && before?.type !== 'Dot' && test?.type === 'Identifier';
    if (!isTest || !isOwnTest(test.value)) {
      read.push(token);
      continue;
    }
    const value = TEST + (isNegated ? NOT : '') + test.value;
    read.push({ type: 'Pipe', value: '|' }, { type: 'Identifier', value });
    at += isNegated ? 2 : 1;
  }
  return read;
}

const isWord = ({ type, value }: Tokens[number], word: string): boolean =>
  type === 'Identifier' && value === word;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** Lists a node's children. Those of a dictionary are in a map. */
function childrenOf(node: Node): Node[] {
  const entries = node.value instanceof Map ? [...node.value].flat() : [];
  return [...Object.values(node), ...entries].flat().filter(isNode);
}

/** Rewrites syntax that Jinja supports and the library does not. @returns depth of nested loops in the node */
function allowWhatJinjaAllows(node: Node): number {
  const inner = Math.max(0, ...childrenOf(node).map(allowWhatJinjaAllows));
  const loops = node.type === 'For' ? inner + 1 : inner;
  for (const block of [node.body, node.defaultBlock, node.alternate])
    for (const shown of block ?? []) shown[SHOWN] = true;
  REWRITES.get(node.type)?.(node, loops);
  return loops;
}

/** Makes a loop over nothing have no rounds, as in Jinja. The library throws. */
function allowLoops(node: Node, loops: number): void {
  const { iterable, loopvar, body = [], defaultBlock = [] } = node;
  const name = loopvar?.type === 'Identifier' ? String(loopvar.value) : '';
  const used = [...body, ...(iterable?.type === 'SelectExpression' ? [iterable] : [])];
  const uses = new Set<Use>();
  // Each level of nesting reads the nodes again.
  if (loops <= MAX_LOOPS) for (const part of used) noteUses(name, part, uses);
  const isByAttributes = uses.has('attribute') && !uses.has('whole') && defaultBlock.length === 0;
  const orEmpty = (left: Node | undefined): Node => ({
    [LOOPED]: isByAttributes ? 'attributes' : 'any',
    ...binary('or', left, { type: 'ArrayLiteral', value: [] }),
  });
  if (iterable?.type === 'SelectExpression') iterable.lhs = orEmpty(iterable.lhs);
  else node.iterable = orEmpty(iterable);
}

type Use = 'attribute' | 'whole';

/** Records how a part of a template uses a variable. */
function noteUses(name: string, node: Node, uses: Set<Use>): void {
  if (uses.has('whole')) return;
  if (node.type === 'Identifier') {
    if (node.value === name) uses.add('whole');
  } else if (node.type === 'MemberExpression' && isAttributeOf(name, node)) uses.add('attribute');
  // A method call uses the whole value, which may be a text.
  else if (node.callee && isAttributeOf(name, node.callee)) uses.add('whole');
  else for (const child of childrenOf(node)) noteUses(name, child, uses);
}

const isAttributeOf = (name: string, { object, property, computed }: Node): boolean =>
  object?.type === 'Identifier' && object.value === name && (!computed || property?.type === 'StringLiteral');

/** Converts number keys to strings, as the library only supports string keys. */
function allowNumberKeys(node: Node): void {
  if (node.type === 'ObjectLiteral' && node.value instanceof Map) {
    const entries = [...(node.value as Map<Node, Node>)];
    node.value = new Map(entries.map(([key, value]) => [isNumber(key) ? asText(key) : key, value]));
  } else if (node.computed) {
    const { object, property } = node;
    // The object is evaluated twice, so it must be a cheap node without side effects.
    if (object?.type === 'Identifier' && property && !KNOWN_KEYS.has(property.type))
      node.property = call(identifier(KEY), [object, property]);
  }
}

const KNOWN_KEYS = new Set(['SliceExpression', 'StringLiteral']);

const ALIASES = new Map(Object.entries({ count: 'length', d: 'default', e: 'escape' }));
/** Filters of lists, which take a text as the list of its characters. The library has those that `LIST_FILTERS` lacks. */
const TAKES_LIST = /^(?:(?:select|reject)(?:attr)?|map|first|last|list|max|min|sort|unique)$/;

function allowFilter(node: Node): void {
  const { operand, filter } = node;
  const named = filter?.callee ?? filter;
  if (!operand || typeof named?.value !== 'string') return;
  const args = filter?.args ?? [];
  const name = ALIASES.get(named.value) ?? named.value;
  named.value = name;
  const by = args.find(({ key }) => name === 'join' && key?.value === 'attribute');
  if (by) return joinAttribute(node, operand, args, by);
  const kind = filterKind(name, args);
  if (name.startsWith(TEST)) replace(node, testNode(name.slice(TEST.length), operand, args));
  else if (kind)
    node[OPERATION] = { kind, name, operand, args, otherwise: { ...node, operand: identifier(HELD) } };
}

/** Rewrites `join(text, attribute=a)` as `map(attribute=a) | join(text)`. */
function joinAttribute(node: Node, operand: Node, args: readonly Node[], attribute: Node): void {
  const others = args.filter((arg) => arg !== attribute);
  replace(node, filterNode('join', filterNode('map', operand, [attribute]), others));
}

function filterKind(name: string, [first]: readonly Node[]): Operation['kind'] | null {
  if (TEXT_FILTERS.has(name)) return 'text filter';
  if (name === 'string') return 'to text';
  // The library supports `map` with a named argument (`attribute`).
  const isMapped = name === 'map' && first?.type === 'KeywordArgumentExpression';
  return TAKES_LIST.test(name) && !isMapped ? 'list filter' : null;
}

function allowCall(node: Node): void {
  const { callee, args = [] } = node;
  if (callee?.type === 'Identifier' && callee.value === 'dict') allowDict(node, args);
  else if (callee?.type === 'MemberExpression' && !callee.computed) allowMethod(node, callee, args);
}

/** Methods of dictionaries, which a key of the same name does not hide. */
const DICTIONARY_METHODS = /^(?:get|items|keys|values)$/;

function allowMethod(node: Node, callee: Node, args: Node[]): void {
  const { object, property } = callee;
  const method = property?.value;
  if (!object || typeof method !== 'string') return;
  if (DICTIONARY_METHODS.test(method)) {
    const otherwise = { ...callee, object: identifier(HELD) };
    callee[OPERATION] = { kind: 'attribute', name: method, operand: object, args: [], otherwise };
  }
  if (TEXT_METHODS.has(method) && (args.length > 0 || !method.endsWith('strip'))) {
    const otherwise = { ...node, callee: { ...callee, object: identifier(HELD) } };
    node[OPERATION] = { kind: 'method', name: method, operand: object, args, otherwise };
  }
}

/** Rewrites `dict(a=1)` as `{'a': 1}`. */
function allowDict(node: Node, args: readonly Node[]): void {
  if (args.some(({ type }) => type !== 'KeywordArgumentExpression')) return;
  const entries = args.map(({ key, value }): [Node | undefined, unknown] => [key && asText(key), value]);
  replace(node, { type: 'ObjectLiteral', value: new Map(entries) });
}

/** Adds operators of texts that the library lacks, or runs differently from Python. */
function allowOperator(node: Node): void {
  const { left, right, operator } = node;
  const name = operator?.value ?? '';
  if (!left || !right) return;
  if (name === '==' || name === '!=')
    node[OPERATION] = { kind: 'equality', name, operand: left, args: [right], otherwise: node };
  else if (COMPARISONS.has(name)) for (const operand of [left, right]) operand[COMPARED] = true;
  if (name === '~') Object.assign(node, { left: written(left), right: written(right) });
  if (!['%', '*'].includes(name)) return;
  const args = right.type === 'TupleLiteral' ? (right.value as Node[]) : [right];
  const otherwise = { ...node, left: identifier(HELD) };
  node[OPERATION] = { kind: 'operator', name, operand: left, args, otherwise };
}

const written = (node: Node): Node =>
  node.type === 'StringLiteral' || node.operator?.value === '~' ? node : filterNode('string', node, []);

const REWRITES = new Map<string, (node: Node, loops: number) => void>([
  ['For', allowLoops],
  ['ObjectLiteral', allowNumberKeys],
  ['MemberExpression', allowNumberKeys],
  ['FilterExpression', allowFilter],
  ['CallExpression', allowCall],
  ['BinaryExpression', allowOperator],
]);

function replace(node: Node, by: Node): void {
  for (const key of Object.keys(node)) Reflect.deleteProperty(node, key);
  Object.assign(node, by);
}

/** Builds a node for `operand is name(args)`. */
export function testNode(name: string, operand: Node, args: readonly Node[]): Node {
  if (name.startsWith(NOT)) return negated(testNode(name.slice(NOT.length), operand, args));
  const [argument] = args;
  const operator = OPERATORS.get(name) ?? (COMPARISONS.has(name) ? name : undefined);
  if (operator !== undefined) {
    const node = binary(operator, { ...operand }, argument && { ...argument });
    allowOperator(node);
    return node;
  }
  const plain = (test: string): Node =>
    ({ type: 'TestExpression', operand, negate: false, test: identifier(test) }) as Node;
  return name === 'float' ? binary('and', plain('number'), negated(plain('integer'))) : plain(name);
}

/** Builds a node for `operand | name(args)`. */
export function filterNode(name: string, operand: Node, args: readonly Node[]): Node {
  const filter = args.length > 0 ? call(identifier(name), [...args]) : identifier(name);
  const node: Node = { type: 'FilterExpression', operand, filter };
  allowFilter(node);
  return node;
}

/** Builds a node for `object.a.b` from the path `a.b`. */
export const member = (object: Node, path: string): Node =>
  path.split('.', MAX_PATH).reduce(
    (inner, name): Node => ({
      type: 'MemberExpression',
      object: inner,
      property: identifier(name),
      computed: false,
    }),
    object,
  );

export const identifier = (value: string): Node => ({ type: 'Identifier', value });
const binary = (operator: string, left: Node | undefined, right: Node | undefined): Node =>
  ({ type: 'BinaryExpression', operator: { type: 'BinaryOperator', value: operator }, left, right }) as Node;
export const negated = (argument: Node): Node =>
  ({ type: 'UnaryExpression', operator: { type: 'UnaryOperator', value: 'not' }, argument }) as Node;
const call = (callee: Node, args: Node[]): Node => ({ type: 'CallExpression', callee, args });
const isNumber = ({ type }: Node): boolean => type === 'IntegerLiteral' || type === 'FloatLiteral';
const asText = ({ value }: Node): Node => ({ type: 'StringLiteral', value: String(value) });

/** Converts a key of a dictionary to a string, as the library requires. */
export const keyOf = (object: unknown, key: unknown): unknown =>
  object instanceof Map && typeof key === 'number' ? String(key) : key;
