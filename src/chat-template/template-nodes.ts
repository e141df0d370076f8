/**
 * Jinja's syntax that @huggingface/jinja lacks, as changes of its syntax tree.
 * @remarks
 * - Relies on: the types and fields of the tree's nodes; `evaluate()` being called for each node, and giving values with
 *   `type` and `value` (`bounded-template.ts`).
 * - Read in: @huggingface/jinja 0.5.11, `src/ast.ts` and `src/runtime.ts`.
 * - Notices: `templates.test.ts`, which compares prompts with Python's Jinja.
 * - Then: a template is refused, or its prompt differs.
 */
import { parse, type Template, tokenize } from '@huggingface/jinja';

import { numberKey } from './template-values.ts';

export type Program = Template['parsed'];
type Tokens = ReturnType<typeof tokenize>;

/** A node of a parsed template. */
export interface Node {
  type: string;
  /** Set for what a loop iterates over: `attributes` if the loop only reads attributes of the items. */
  [LOOPED]?: 'any' | 'attributes';
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
  test?: Node;
  negate?: boolean;
  stop?: Node;
  step?: Node;
  name?: Node;
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

/** Marks nodes that a loop iterates over. */
export const LOOPED = Symbol('looped');
/** Marks nodes of blocks, whose values are written into the text. */
export const SHOWN = Symbol('shown');
/** Maximum depth of an attribute path. */
const MAX_PATH = 100;

/** Maximum depth of nested loops whose variables are analysed. */
const MAX_LOOPS = 20;

/** Parses a chat template as Jinja does. @throws Error if it is not a template */
export function parseTemplate(template: string): Program {
  const tokens = tokenize(withoutCarriageReturns(template), { lstrip_blocks: true, trim_blocks: true });
  for (const [at, { type, value }] of tokens.entries())
    if (type === 'NumericLiteral' && /^(?:e\d*|_\d.*|x.*)$/i.test(tokens[at + 1]?.value ?? ''))
      throw new Error(`the number ${value}${tokens[at + 1]?.value} is in a form that is not supported`);
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
  ['sameas', '==='],
  ['ne', '!='],
  ['lt', '<'],
  ['lessthan', '<'],
  ['le', '<='],
  ['gt', '>'],
  ['greaterthan', '>'],
  ['ge', '>='],
  ['in', 'in'],
]);
const COMPARISONS: ReadonlySet<string> = new Set(OPERATORS.values());

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
    if (!isTest || !OPERATORS.has(test.value)) {
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
  node.body = [blockOf('Scope', node, body)];
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

/** Converts number keys to texts, as the library only supports string keys. */
function allowNumberKeys(node: Node): void {
  if (!(node.value instanceof Map)) return;
  const entries = [...(node.value as Map<Node, Node>)];
  node.value = new Map(
    entries.map(([key, value]) => [isNumber(key) ? textOf(numberKey(key.value)) : key, value]),
  );
}

/** Makes blocks nodes, which keep their text if `break` or `continue` ends them. A scope has its own variables. */
function blockOf(type: 'Block' | 'Scope', node: Node, body: Node[] = []): Node {
  // The library knows its own nodes by their class.
  return Object.assign(Object.create(Object.getPrototypeOf(node) as object) as Node, { type, body });
}

function allowEnds(node: Node): void {
  node.body = [blockOf('Block', node, node.body)];
  node.alternate = [blockOf('Block', node, node.alternate)];
}

const ALIASES = new Map(Object.entries({ count: 'length', d: 'default' }));

function allowFilter(node: Node): void {
  const { operand, filter } = node;
  const named = filter?.callee ?? filter;
  const args = filter?.args ?? [];
  const name = String(named?.value);
  if (!operand || !named) return;
  named.value = ALIASES.get(name) ?? name;
  if (name === 'map' && args[0]?.type === 'KeywordArgumentExpression') named.value = 'map-attribute';
  if (name.startsWith(TEST)) replace(node, testNode(name.slice(TEST.length), operand, args));
}

/** Rewrites `dict(a=1)` as `{'a': 1}`. */
function allowDict(node: Node): void {
  const { callee, args = [] } = node;
  if (callee?.type !== 'Identifier' || callee.value !== 'dict') return;
  if (args.some(({ type }) => type !== 'KeywordArgumentExpression')) return;
  const entries = args.map(({ key, value }): [Node | undefined, unknown] => [textOf(key?.value), value]);
  replace(node, { type: 'ObjectLiteral', value: new Map(entries) });
}

const REWRITES = new Map<string, (node: Node, loops: number) => void>([
  ['For', allowLoops],
  ['If', allowEnds],
  ['ObjectLiteral', allowNumberKeys],
  ['FilterExpression', allowFilter],
  ['CallExpression', allowDict],
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
  return operator === undefined
    ? { type: 'TestExpression', operand, negate: false, test: identifier(name) }
    : binary(operator, operand, argument);
}

/** Builds a node for `operand | name(args)`. */
export function filterNode(name: string, operand: Node, args: readonly Node[]): Node {
  const filter = args.length > 0 ? call(identifier(name), [...args]) : identifier(name);
  const node: Node = { type: 'FilterExpression', operand, filter };
  allowFilter(node);
  return node;
}

/** Builds a node for `object['a']['b']` from the path `a.b`. */
export const member = (object: Node, path: string): Node =>
  path.split('.', MAX_PATH).reduce(
    (inner, name): Node => ({
      type: 'MemberExpression',
      object: inner,
      property: textOf(name),
      computed: true,
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
const textOf = (value: unknown): Node => ({ type: 'StringLiteral', value });
