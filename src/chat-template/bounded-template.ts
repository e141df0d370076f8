import { Environment, Interpreter } from '@huggingface/jinja';

import { pythonText } from './python-text.ts';
import { strftime } from './strftime.ts';
import { type Interpreting, LIST_FILTERS, VALUE_FILTERS } from './template-lists.ts';
import { identifier, LOOPED, type Node, parseTemplate, type Program, SHOWN } from './template-nodes.ts';
import {
  BoundError,
  type Bounds,
  needle,
  PARAMETERS,
  type Plain,
  TEXT_FILTERS,
  TEXT_METHODS,
} from './template-texts.ts';
import {
  HELD,
  HELD_TOO,
  inAscii,
  isRounded,
  itemsOf,
  kindOf,
  listOf,
  memberOf,
  NO_CONTENT,
  pairsOf,
  ROUNDED,
  toInput,
  toValue,
  UNDEFINED,
  type Value,
  withNumbers,
  withText,
  withValue,
  WrittenNumber,
} from './template-values.ts';

export { BoundError } from './template-texts.ts';

/** Maximum length of a template. The longest real ones have 30 KB. */
const MAX_CHARACTERS = 2 ** 20;
/** Maximum number of consecutive spaces. The parser's time grows with its square. */
const MAX_SPACES = 1000;
const MAX_RANGE = 10_000;
const MAX_DATE_FORMAT = 100;
/** Maximum work. Each evaluation, and each element of a value that it creates, is one unit: about a microsecond. */
const MAX_WORK = 1_000_000;
const MAX_WORK_A_CHARACTER = 10;
const CHARACTERS_A_UNIT = 64;
/** Maximum number of characters and elements of one value, nested values included. */
const MAX_SIZE = 2_000_000;
const MAX_SIZE_A_CHARACTER = 4;

/** Probe text, which no template contains. */
const PROBE = 'localtext-content-probe';
/** Key of the probe's part. A template that shows it shows the part, as it does with a slice of a text. */
const PROBE_KEY = 'localtext-part-probe';
const toParts = (text: string) => [{ type: 'text', text }];

export interface TemplateMessage {
  role: string;
  /** Null for a message with only tool calls, for templates that require it. */
  content: string | null;
  tool_call_id?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: unknown } }[];
}

interface TemplateInput {
  messages: readonly (Pick<TemplateMessage, 'content'> & Partial<TemplateMessage>)[];
  [name: string]: unknown;
}

/**
 * Chat template from a model's file. The number of evaluations and the sizes of values are bounded, but a single
 * operation may still take long: it must run in a worker that can be terminated (`chat-prompt.ts`).
 */
export class BoundedTemplate {
  readonly #program: Program;
  /** Whether the template requires message contents as arrays of parts. */
  #takesParts = false;
  readonly #plain: (text: string) => string;

  /**
   * @param plain removes the marks of clients' characters, which searches and comparisons ignore
   * @throws Error if it is not a template
   */
  constructor(template: string, plain: (text: string) => string = (text) => text) {
    this.#plain = plain;
    if (template.length > MAX_CHARACTERS)
      throw new BoundError(`it has more than ${MAX_CHARACTERS} characters`);
    if (new RegExp(`\\s{${MAX_SPACES + 1}}`).test(template))
      throw new BoundError(`it has more than ${MAX_SPACES} spaces in a row`);
    this.#program = parseTemplate(template);
    try {
      const parts = toParts(PROBE).map((part) => ({ ...part, [PROBE_KEY]: '' }));
      this.#takesParts = !this.#shows(PROBE) && this.#shows(parts);
    } catch (error) {
      // A template that exceeds its bounds is not probed further.
      if (!(error instanceof BoundError)) throw error;
    }
  }

  #shows(content: unknown): boolean {
    try {
      const text = this.#render([{ role: 'user', content }], { bos_token: '', eos_token: '' });
      return text.includes(PROBE) && !text.includes(PROBE_KEY);
    } catch (error) {
      if (error instanceof BoundError) throw error;
      return false;
    }
  }

  /** @throws the template's error; BoundError */
  render({ messages, ...others }: TemplateInput): string {
    if (!this.#takesParts) return this.#render(messages, others);
    const inParts = messages.map((message) => ({
      ...message,
      content: message.content === null ? null : toParts(message.content),
    }));
    return this.#render(inParts, others);
  }

  #render(messages: readonly unknown[], others: Record<string, unknown>): string {
    const items = { ...others, messages };
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...globals, ...items }))
      environment.setVariable(name, toInput(value));
    const { length } = JSON.stringify(items);
    const text = new BoundedInterpreter(environment, length, this.#plain).run(this.#program).value;
    return typeof text === 'string' ? withNumbers(text) : '';
  }
}

const CONSTANTS = { false: false, true: true, none: null, False: false, True: true, None: null };

/** Jinja's global names, with a bounded `range()`. */
const globals = {
  ...CONSTANTS,
  raise_exception: (why: string): never => {
    throw new Error(why);
  },
  range: boundedRange,
  strftime_now: (format: string): string => {
    if (format.length > MAX_DATE_FORMAT)
      throw new BoundError(`its format of a date has more than ${MAX_DATE_FORMAT} characters`);
    return strftime(new Date(), format);
  },
};

function boundedRange(first: number, second?: number, by = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / by));
  if (!(length <= MAX_RANGE)) throw new BoundError(`its range() has more than ${MAX_RANGE} numbers`);
  return Array.from({ length }, (_, index) => start + index * by);
}

/** Filters that the library runs as Python does, with named or checked arguments. */
const BY_LIBRARY = /^(?:abs|indent|tojson)$/;

/** Statements, whose value is null. */
const SILENT = /^(?:Comment|Macro|Set)$/;

/** Tests that the library runs differently, by a value's type. */
const TESTS: ReadonlyMap<unknown, RegExp> = new Map([
  ['float', /^Float/],
  ['iterable', /^(?:Array|Object|String|Undefined)/],
  ['number', /^(?:Boolean|Float|Integer)/],
  ['sequence', /^(?:Array|Object|String|Undefined)/],
]);

/** Thrown by `break` and `continue`, with the text of the round before it. */
class RoundEnd extends Error {
  text = '';
  isBreak = false;
}

const isNumeric = (value: unknown): value is number | bigint =>
  /^(?:bigint|boolean|number)$/.test(typeof value);

class BoundedInterpreter extends Interpreter {
  readonly #bounds: Bounds;
  readonly #maxWork: number;
  #work = 0;
  /** Sizes of immutable lists and dictionaries. Those that contain a namespace can change. */
  readonly #sizes = new WeakMap<object, number>();
  /** Variables of loops that `break` has ended. */
  readonly #ended = new WeakSet<Environment>();

  /** @param inputLength length of the template's input as JSON */
  constructor(environment: Environment, inputLength: number, plain: (text: string) => string) {
    super(environment);
    this.#bounds = {
      plain,
      maxSize: MAX_SIZE + MAX_SIZE_A_CHARACTER * inputLength,
      spend: (work) => this.#spend(work),
    };
    this.#maxWork = MAX_WORK + MAX_WORK_A_CHARACTER * inputLength;
  }

  override evaluate(node: Node | undefined, environment: Environment): Value {
    this.#spend(1);
    const own = node && this.#own.get(node.type);
    const evaluated: Value = own ? own(node, environment) : super.evaluate(node, environment);
    const items = node?.[LOOPED];
    const value = withText(items ? this.#looped(evaluated, items) : evaluated);
    this.#measure(value);
    if (value.type === 'IntegerValue' && isRounded(value.value)) throw new Error(ROUNDED);
    const isWritten = node?.[SHOWN] && !SILENT.test(node.type) && value !== NO_CONTENT;
    return isWritten ? toValue(this.#textOf(value)) : value;
  }

  /** Nodes that the library does not evaluate, or evaluates differently from Python. */
  readonly #own = new Map<string, (node: Node, environment: Environment) => Value>([
    ['BinaryExpression', (node, environment) => this.#binary(node, environment)],
    ['Block', (node, environment) => toValue(this.#block(node, environment))],
    ['Break', () => this.#endRound(true)],
    ['CallExpression', (node, environment) => this.#call(node, environment)],
    ['Continue', () => this.#endRound(false)],
    ['FilterExpression', (node, environment) => this.#filter(node, environment)],
    [
      'FilterStatement',
      (node, environment) =>
        this.#filter({ ...node, type: 'FilterExpression', operand: { ...node, type: 'Scope' } }, environment),
    ],
    ['Macro', (node, environment) => this.#macro(node, environment)],
    ['MemberExpression', (node, environment) => this.#member(node, environment)],
    ['Scope', (node, environment) => toValue(this.#block(node, new Environment(environment)))],
    ['StringLiteral', ({ value }) => toValue(value)],
    ['TestExpression', (node, environment) => this.#test(node, environment)],
    [
      'TupleLiteral',
      (node, environment) => listOf(super.evaluate(node, environment).value as Value[], 'tuple'),
    ],
  ]);

  /** Renders a block. A scope, which has variables of its own, may be a loop's round. */
  #block({ type, body = [] }: Node, environment: Environment): string {
    const loop = type === 'Scope' ? environment.parent : undefined;
    let text = '';
    try {
      if (!loop || !this.#ended.has(loop))
        for (const node of body) text += String(this.evaluate(node, environment).value ?? '');
    } catch (error) {
      if (!(error instanceof RoundEnd)) throw error;
      text = error.text = text + error.text;
      if (!loop) throw error;
      if (error.isBreak) this.#ended.add(loop);
    }
    return text;
  }

  #endRound(isBreak: boolean): never {
    throw Object.assign(new RoundEnd('break and continue are for loops'), { isBreak });
  }

  /** Defines a macro, which sees the variables of the place where it is defined. */
  #macro(node: Node, environment: Environment): Value {
    const defined = super.evaluate(node, environment);
    const name = String(node.name?.value);
    const macro = environment.lookupVariable(name);
    const run = macro.value as (args: Value[], scope: Environment) => Value;
    const inPlace = (args: Value[], from: Environment): Value => {
      const scope = new Environment(environment);
      scope.setVariable('caller', from.variables.get('caller') ?? UNDEFINED);
      return run(args, scope);
    };
    environment.setVariable(name, withValue(macro, inPlace));
    return defined;
  }

  #test(node: Node, environment: Environment): Value {
    const name = String(node.test?.value);
    if (/^(?:callable|lower|upper)$/.test(name)) throw new Error(`the test "${name}" is not supported`);
    const types = TESTS.get(name);
    if (!types) return super.evaluate(node, environment);
    return toValue(types.test(this.evaluate(node.operand, environment).type) !== node.negate);
  }

  /** Removes the marks from a text, and the text from a number: a whole one beyond 2^53 is a BigInt then, which compares exactly. */
  #unmarked(value: Value): Value {
    const inner: unknown = value.value;
    if (typeof inner === 'string') return withValue(value, this.#bounds.plain(inner));
    return inner instanceof WrittenNumber ? withValue(value, inner.exact) : value;
  }

  /** Whether two values are equal in Python. */
  #areEqual(left: Value, right: Value | undefined): boolean {
    if (!right) return false;
    this.#spend(1);
    const [a, b] = [left, right].map((value) => this.#unmarked(value).value as unknown);
    if (isNumeric(a) && isNumeric(b)) return a <= b && a >= b;
    if (left.type !== right.type || kindOf(left) !== kindOf(right)) return false;
    if (Array.isArray(a) && Array.isArray(b))
      return a.length === b.length && a.every((item, at) => this.#areEqual(item as Value, b[at] as Value));
    if (left.type !== 'ObjectValue') return a === b;
    const [items, others] = [left.value, right.value] as [Map<string, Value>, Map<string, Value>];
    return (
      items.size === others.size && [...items].every(([key, item]) => this.#areEqual(item, others.get(key)))
    );
  }

  /** Whether a value has an item, or a text a part. */
  #contains(held: Value, item: Value): boolean {
    const text: unknown = held.value;
    if (typeof text === 'string')
      return this.#bounds.plain(text).includes(needle(text, item.value as Plain, this.#bounds));
    return this.#itemsOf(held).some((each) => this.#areEqual(item, each));
  }

  /** Converts a value to text as Python does. */
  #textOf(value: Value): string {
    if (typeof value.value === 'string') return value.value;
    // The conversion reads the whole value.
    this.#spend(this.#measure(value).size);
    return pythonText(value);
  }

  /**
   * Converts a value to what a loop iterates over. A text is empty if the loop only reads attributes, which
   * characters lack.
   */
  #looped(value: Value, items: 'any' | 'attributes'): Value {
    if (items === 'attributes' && typeof value.value === 'string') return listOf([]);
    return /^(?:Array|Object|String)/.test(value.type) ? listOf(this.#itemsOf(value)) : value;
  }

  #binary(node: Node, environment: Environment): Value {
    const name = node.operator?.value ?? '';
    if (name === 'and' || name === 'or') return super.evaluate(node, environment);
    const left = this.evaluate(node.left, environment);
    const right = this.evaluate(node.right, environment);
    if (name === '~') return toValue(this.#textOf(left) + this.#textOf(right));
    if (/^[!=]/.test(name)) {
      const isSame = name !== '===' || left.type === right.type;
      return toValue((isSame && this.#areEqual(left, right)) === (name !== '!='));
    }
    if (name.endsWith('in')) return toValue(this.#contains(right, left) === (name === 'in'));
    return this.#computed(node, name, left, right, environment);
  }

  /** Computes with numbers, or concatenates. */
  #computed(node: Node, name: string, left: Value, right: Value, environment: Environment): Value {
    if (name === '+' && (typeof left.value === 'string') !== (typeof right.value === 'string'))
      throw new Error('"+" concatenates a text with texts alone');
    if (name === '+' && typeof left.value === 'string') return toValue(left.value + String(right.value));
    const isOrder = /[<>]/.test(name);
    const scope = new Environment(environment);
    scope.setVariable(HELD, isOrder ? this.#unmarked(left) : left);
    scope.setVariable(HELD_TOO, isOrder ? this.#unmarked(right) : right);
    const value = super.evaluate(
      { ...node, left: identifier(HELD), right: identifier(HELD_TOO) } as Node,
      scope,
    );
    // The library gives a remainder the sign of the dividend, Python that of the divisor.
    const [rest, by] = [Number(value.value), Number(right.value)];
    return name === '%' && rest * by < 0 ? withValue(value, rest + by) : value;
  }

  #call(node: Node, environment: Environment): Value {
    const { callee, args = [] } = node;
    const isMethod = callee?.type === 'MemberExpression' && !callee.computed;
    const name = String((isMethod ? callee.property : callee)?.value);
    const held = isMethod ? this.evaluate(callee.object, environment) : UNDEFINED;
    const method = typeof held.value === 'string' && TEXT_METHODS.get(name);
    if (method) {
      const values = this.#arguments(name, args, environment).map((value) => value && unwrapped(value));
      return toValue(method(held.value as string, values, this.#bounds));
    }
    const called = isMethod ? memberOf(held, name, false) : this.evaluate(callee, environment);
    if (called.type !== 'FunctionValue') throw new Error(`${name}() is not supported`);
    const scope = new Environment(environment);
    scope.setVariable(HELD, called);
    const value = super.evaluate({ ...node, callee: identifier(HELD) } as Node, scope);
    if (held.type !== 'ObjectValue' || !/^(?:items|keys|values)$/.test(name)) return value;
    if (name === 'values') return listOf(value.value as Value[], 'view');
    return listOf(name === 'items' ? pairsOf(held) : itemsOf(held), 'view');
  }

  #filter(node: Node, environment: Environment): Value {
    const { callee, args: given = [], value: alone } = node.filter ?? {};
    const name = String(callee?.value ?? alone);
    const held = this.evaluate(node.operand, environment);
    const args = this.#arguments(name, given, environment);
    const ofList = LIST_FILTERS.get(name);
    const ofValue = VALUE_FILTERS.get(name);
    const ofText = TEXT_FILTERS.get(name);
    if (ofList) return ofList(this.#filtered(name, held), args, this.#interpreting(environment)) ?? UNDEFINED;
    if (ofValue) return ofValue(held, args, this.#interpreting(environment));
    const plain = args.map((value) => value && unwrapped(value));
    const text = ofText && toValue(ofText(this.#textOf(held), plain, this.#bounds));
    if (text && name !== 'indent') return text;
    if (!BY_LIBRARY.test(name)) throw new Error(`the filter "${name}" is not supported`);
    const scope = new Environment(environment);
    scope.setVariable(HELD, text ?? held);
    if (name === 'tojson') return this.#toJson(node, given, plain, scope);
    return super.evaluate({ ...node, operand: identifier(HELD) } as Node, scope);
  }

  /** Writes the held value as JSON, whose marks the library would escape. */
  #toJson(node: Node, given: readonly Node[], plain: readonly Plain[], scope: Environment): Value {
    checkJson(given, plain);
    const filter = { ...node.filter, args: given.filter(({ key }) => key?.value !== 'ensure_ascii') };
    const json = super.evaluate({ ...node, operand: identifier(HELD), filter } as Node, scope);
    return plain[0] === true ? toValue(inAscii(String(json.value), this.#bounds.plain)) : json;
  }

  /** Lists what a filter reads: some filters read nothing of what is false. */
  #filtered(name: string, held: Value): Value[] {
    return /^(?:map|reject|select)/.test(name) && !held.__bool__().value ? [] : this.#itemsOf(held);
  }

  #interpreting(environment: Environment): Interpreting {
    return {
      ...this.#bounds,
      evaluate: (node, names) => {
        const scope = new Environment(environment);
        for (const [key, value] of names) scope.setVariable(key, value);
        return this.evaluate(node, scope);
      },
      textOf: (value) => this.#textOf(value),
      itemsOf: (value) => this.#itemsOf(value),
    };
  }

  #member(node: Node, environment: Environment): Value {
    const { object, property, computed = false } = node;
    // The library takes -1 for the start then.
    if (property?.stop && Number(property.step?.value) < 0) throw new Error('a slice backwards has no end');
    if (property?.type === 'SliceExpression') return super.evaluate(node, environment);
    const held = this.evaluate(object, environment);
    if (typeof held.value === 'string') this.#spend(held.value.length / CHARACTERS_A_UNIT);
    const key: unknown = computed ? this.evaluate(property, environment).value : property?.value;
    return memberOf(held, key?.valueOf(), computed);
  }

  /** Evaluates arguments and orders them by parameter, named ones included. */
  #arguments(name: string, args: readonly Node[], environment: Environment): (Value | undefined)[] {
    const parameters = PARAMETERS.get(name);
    const values: (Value | undefined)[] = [];
    for (const [index, arg] of args.entries()) {
      const isNamed = arg.type === 'KeywordArgumentExpression';
      const at = isNamed ? (parameters ?? []).indexOf(String(arg.key?.value)) : index;
      if (at === -1 || (parameters && at >= parameters.length))
        throw new Error(
          `${name} with the argument ${String(arg.key?.value ?? at + 1).slice(0, 40)} is not supported`,
        );
      const value = this.evaluate(isNamed ? (arg.value as Node) : arg, environment);
      const { size } = this.#measure(value);
      // The operation reads or prints the whole value.
      if (typeof value.value !== 'string') this.#spend(size);
      values[at] = value;
    }
    return values;
  }

  /** Lists the items of a value, and counts each as work. */
  #itemsOf(value: Value): Value[] {
    if (typeof value.value === 'string') this.#spend(value.value.length);
    const items = itemsOf(value);
    this.#spend(items.length);
    return items;
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work > this.#maxWork)
      throw new BoundError('it takes more than the steps that a template may take');
  }

  /** Counts characters and elements of a value. Shared parts count each time, as the value's text repeats them. */
  #measure(value: Value): { size: number; isFixed: boolean } {
    const known = this.#sizes.get(value);
    if (known !== undefined) return { size: known, isFixed: true };
    const inner: unknown = value.value;
    const characters = typeof inner === 'string' ? inner.length : 0;
    let size = 1 + characters;
    this.#spend(characters / CHARACTERS_A_UNIT);
    let isFixed = value.type !== 'NamespaceValue';
    const isContainer = Array.isArray(inner) || inner instanceof Map;
    if (isContainer)
      for (const part of inner.values() as Iterable<Value>) {
        this.#spend(1);
        const measured = this.#measure(part);
        size += measured.size;
        isFixed &&= measured.isFixed;
        if (size > this.#bounds.maxSize) break;
      }
    if (size > this.#bounds.maxSize)
      throw new BoundError(`it makes a value of more than ${this.#bounds.maxSize} characters or elements`);
    if (isContainer && isFixed) this.#sizes.set(value, size);
    return { size, isFixed };
  }
}

/** @throws Error for arguments that the library does not treat as Hugging Face's `tojson` does */
function checkJson(args: readonly Node[], [, , indent = 1]: readonly Plain[]): void {
  if (Number(indent) < 1 || args.some(({ key }) => !key))
    throw new Error('tojson takes ensure_ascii, separators and an indent of 1 or more, by name');
}

/** Unwraps a value of the library. */
function unwrapped({ value }: Value): Plain {
  const inner: unknown = value;
  if (Array.isArray(inner)) return (inner as Value[]).map(unwrapped);
  const number: unknown = inner?.valueOf();
  if (typeof number === 'number') return number;
  if (inner !== null && (typeof inner === 'object' || typeof inner === 'function'))
    throw new Error('an argument must be no dictionary');
  return inner as Plain;
}
