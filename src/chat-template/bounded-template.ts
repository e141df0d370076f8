import { Environment, Interpreter } from '@huggingface/jinja';

import { entriesOf, ExactNumber } from '#base';
import { ALL_MARKS } from './client-text.ts';
import { pythonText } from './python-text.ts';
import { strftime } from './strftime.ts';
import { LIST_FILTERS } from './template-lists.ts';
import {
  COMPARED,
  HELD,
  KEY,
  keyOf,
  LOOPED,
  type Node,
  type Operation,
  OPERATION,
  parseTemplate,
  type Program,
  SHOWN,
  type Value,
} from './template-nodes.ts';
import {
  BoundError,
  type Bounds,
  PARAMETERS,
  percentFormat,
  type Plain,
  repeated,
  TEXT_FILTERS,
  TEXT_METHODS,
} from './template-texts.ts';

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
/** Jinja treats an undefined list as empty, the library does not. */
const EMPTY_LISTS = { tools: [], documents: [] };
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
  /** Lists that the template requires. localtext never passes tools or documents. */
  #lists: Record<string, unknown> = {};
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
      this.#findInput();
    } catch (error) {
      // A template that exceeds its bounds is not probed further.
      if (!(error instanceof BoundError)) throw error;
    }
  }

  /** Finds out which lists the template requires, and whether it takes contents as parts. */
  #findInput(): void {
    for (const lists of [{}, EMPTY_LISTS])
      for (const content of [PROBE, toParts(PROBE)])
        if (this.#shows(content, lists)) {
          this.#lists = lists;
          this.#takesParts = content !== PROBE;
          return;
        }
  }

  #shows(content: unknown, lists: Record<string, unknown>): boolean {
    try {
      const tokens = { bos_token: '', eos_token: '' };
      return this.#render([{ role: 'user', content }], { ...lists, ...tokens }).includes(PROBE);
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
    const items = { ...this.#lists, ...others, messages };
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...globals, ...items }))
      environment.setVariable(name, toInput(value));
    const { length } = JSON.stringify(items);
    const text = new BoundedInterpreter(environment, length, this.#plain).run(this.#program).value;
    return typeof text === 'string' ? text.replace(EXACT_NUMBERS, '$2') : '';
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
  [KEY]: keyOf,
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

const MARKED = new RegExp(`[${ALL_MARKS}]`);
const isMarkedOrExact = ({ value }: Value): boolean =>
  (value as unknown) instanceof WrittenNumber || (typeof value === 'string' && MARKED.test(value));

/** Restores marks that `tojson(ensure_ascii=true)` escaped. */
function withoutEscapedMarks(node: Node | undefined, value: Value): Value {
  const text: unknown = value.value;
  if (typeof text !== 'string' || node?.filter?.callee?.value !== 'tojson') return value;
  // Escapes are read one after another, so that a long row of backslashes takes linear time.
  const restored = text.replace(/\\(?:u([\da-f]{4})|[^])/g, (escaped, code: string = '') => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return MARKED.test(character) ? character : escaped;
  });
  return restored === text ? value : toValue(restored);
}

/** Whether JavaScript may have rounded a whole number. */
const isRounded = (value: unknown): boolean => typeof value === 'number' && !Number.isSafeInteger(value);

const withValue = (like: Value, value: unknown): Value =>
  Object.assign(Object.create(like) as Value, { value });

const toValue = (value: unknown): Value => new Environment().set(HELD, value);

/** Stands before and after a number while a template renders it as a text in JSON, whose quotes are not in the prompt. */
const NUMBER = '\uFDEF';
const EXACT_NUMBERS = /(\\{0,7}["'])\uFDEF([^\uFDEF]*)\uFDEF\1/g;

/** Converts an input to a value. Objects keep the order of their keys, and numbers their text. */
function toInput(value: unknown): Value {
  if (value instanceof ExactNumber) return exactNumber(value.text);
  if (Number.isInteger(value) && isRounded(value)) return exactNumber(String(value));
  if (Array.isArray(value)) return new ListValue(value.map(toInput));
  if (typeof value !== 'object' || value === null) return toValue(value);
  const entries = entriesOf(value as Record<string, unknown>);
  const toMember = (key: string, item: unknown) =>
    key === 'content' && item === null ? NO_CONTENT : toInput(item);
  return new ObjectValue(new Map(entries.map(([key, item]) => [key, toMember(key, item)])));
}

/** Content of a message with calls alone. It is shown as nothing, so that templates may show it before the calls. */
const NO_CONTENT = toValue(null);

const ROUNDED = 'it computes with whole numbers beyond 2^53, which would be rounded';

/** A number that is written as its text. The library's arithmetic reads its value, and comparisons read `exact`. */
class WrittenNumber extends Number {
  readonly exact: number | bigint;
  override readonly toString: () => string;
  readonly toJSON: () => string;

  constructor(text: string) {
    super(text);
    const number = Number(text);
    this.exact = isFloat(text) || Number.isSafeInteger(number) ? number : BigInt(text);
    this.toString = () => text;
    this.toJSON = () => NUMBER + text + NUMBER;
  }

  override valueOf(): number {
    if (typeof this.exact === 'number') return this.exact;
    throw new Error(ROUNDED);
  }
}

const isFloat = (text: string): boolean => /[.e]/i.test(text);

function exactNumber(text: string): Value {
  const NumberValue = classOf(isFloat(text) ? 0.5 : 0);
  return Object.assign(new NumberValue(new WrittenNumber(text)), { toString: () => text });
}

/** Statements, whose value is null. */
const SILENT = /^(?:Comment|Macro|Set)$/;

/** Types whose values the library converts to text differently from Python, or not at all. */
const WRITTEN = /^(?:Array|Boolean|Null|Object|Tuple|Undefined)Value$/;

/** The library's class of a value, which it does not export. */
const classOf = (value: unknown) => toValue(value).constructor as new (inner: unknown) => Value;
const ListValue = classOf([]);
const ObjectValue = classOf({});

const isNumeric = (value: unknown): value is number | bigint =>
  /^(?:bigint|boolean|number)$/.test(typeof value);

class BoundedInterpreter extends Interpreter {
  readonly #bounds: Bounds;
  readonly #maxWork: number;
  #work = 0;
  /** Sizes of immutable lists and dictionaries. Those that contain a namespace can change. */
  readonly #sizes = new WeakMap<object, number>();

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
    const operation = node?.[OPERATION];
    const evaluated = operation ? this.#operate(operation, environment) : super.evaluate(node, environment);
    // The library returns no value for the first element of an empty list.
    const known = withoutEscapedMarks(node, (evaluated as Value | undefined) ?? toValue(undefined));
    const items = node?.[LOOPED];
    const value = items ? this.#looped(known, items) : known;
    this.#measure(value);
    if (value.type === 'IntegerValue' && isRounded(value.value)) throw new Error(ROUNDED);
    if (node?.[COMPARED]) return this.#unmarked(value);
    const isWritten = node?.[SHOWN] && !SILENT.test(node.type) && WRITTEN.test(value.type);
    return isWritten && value !== NO_CONTENT ? this.#toText(value) : value;
  }

  /**
   * Removes the marks from a text, a list or the keys of a dictionary, and the text from a number. A whole number
   * beyond 2^53 is a BigInt then, which is compared exactly.
   */
  #unmarked(value: Value): Value {
    const { plain } = this.#bounds;
    const inner: unknown = value.value;
    if (typeof inner === 'string') {
      const text = plain(inner);
      return text === inner ? value : toValue(text);
    }
    if (inner instanceof WrittenNumber) return withValue(value, inner.exact);
    if (Array.isArray(inner) && inner.some(isMarkedOrExact))
      return new ListValue((inner as Value[]).map((item) => this.#unmarked(item)));
    if (inner instanceof Map && [...inner.keys()].some((key) => MARKED.test(String(key))))
      return new ObjectValue(new Map([...inner.keys()].map((key) => [plain(String(key)), value])));
    return value;
  }

  /** Whether two values are equal in Python. */
  #areEqual(left: Value, right: Value | undefined): boolean {
    if (!right) return false;
    this.#spend(1);
    const [a, b] = [left, right].map((value) => this.#unmarked(value).value as unknown);
    if (isNumeric(a) && isNumeric(b)) return a <= b && a >= b;
    if (left.type !== right.type) return false;
    if (Array.isArray(a) && Array.isArray(b))
      return a.length === b.length && a.every((item, at) => this.#areEqual(item as Value, b[at] as Value));
    if (left.type !== 'ObjectValue') return a === b;
    const [items, others] = [left.value, right.value] as [Map<string, Value>, Map<string, Value>];
    return (
      items.size === others.size && [...items].every(([key, item]) => this.#areEqual(item, others.get(key)))
    );
  }

  /** Converts a value to text as Python does. */
  #toText(value: Value): Value {
    // The conversion reads the whole value.
    this.#spend(this.#measure(value).size);
    const text = toValue(pythonText(value));
    this.#measure(text);
    return text;
  }

  /**
   * Converts a value to what a loop iterates over. A text is empty if the loop only reads attributes, which
   * characters lack.
   */
  #looped(value: Value, items: 'any' | 'attributes'): Value {
    const list =
      items === 'attributes' && typeof value.value === 'string' ? toValue([]) : this.#withoutText(value);
    const inner: unknown = list.value;
    // A loop creates the objects for all rounds before the first round.
    if (Array.isArray(inner)) this.#spend(inner.length);
    else if (inner instanceof Map) this.#spend(inner.size);
    return list;
  }

  /** Runs an operation that the library lacks for this operand (a text or list), or leaves it to the library. */
  #operate({ kind, name, operand, args, otherwise }: Operation, environment: Environment): Value {
    const scope = new Environment(environment);
    const held = scope.setVariable(HELD, this.evaluate(operand, environment));
    if (kind === 'attribute' && held.type === 'ObjectValue') return held.builtins.get(name) ?? held;
    if (kind === 'equality')
      return toValue(this.#areEqual(held, this.evaluate(args[0], environment)) === (name === '=='));
    if (kind === 'list filter') {
      const list = scope.setVariable(HELD, this.#withoutText(held));
      const filter = LIST_FILTERS.get(name);
      return filter
        ? this.#filtered(filter, this.#elements(list), this.#arguments(name, args, environment), environment)
        : super.evaluate(otherwise, scope);
    }
    if (kind === 'to text' && WRITTEN.test(held.type)) return this.#toText(held);
    const text: unknown = held.value;
    if (typeof text !== 'string' || kind === 'to text') {
      const value = super.evaluate(otherwise, scope);
      // The library rounds down, Python towards zero.
      if (name === 'int' && Number(text) < 0) return withValue(value, Math.trunc(Number(text)));
      return kind === 'operator' && name === '%' ? this.#withSign(value, args[0], environment) : value;
    }
    const values = this.#arguments(name, args, environment).map(
      (value) => value && unwrapped(/^(?:%|format)$/.test(name) ? this.#toText(value) : value),
    );
    return toValue(this.#textOperation(kind, name, text, values));
  }

  /** Gives a remainder the sign of its divisor, as in Python. */
  #withSign(rest: Value, divisor: Node | undefined, environment: Environment): Value {
    const number = Number(rest.value);
    const by = number && Number(this.evaluate(divisor, environment).value);
    return number * by < 0 ? withValue(rest, number + by) : rest;
  }

  #textOperation(kind: Operation['kind'], name: string, text: string, args: readonly Plain[]): Plain {
    if (kind !== 'operator')
      return (kind === 'method' ? TEXT_METHODS : TEXT_FILTERS).get(name)?.(text, args, this.#bounds);
    if (name === '%') return percentFormat(text, args, this.#bounds);
    const [first] = args;
    if (typeof first !== 'number') throw new Error('a text is repeated by a number');
    return repeated(text, first, this.#bounds);
  }

  #filtered(
    filter: NonNullable<ReturnType<typeof LIST_FILTERS.get>>,
    values: readonly Value[],
    args: readonly (Value | undefined)[],
    environment: Environment,
  ): Value {
    const evaluate = (node: Node, names: ReadonlyMap<string, Value>): Value => {
      const scope = new Environment(environment);
      for (const [name, value] of names) scope.setVariable(name, value);
      return this.evaluate(node, scope);
    };
    const toList = (list: readonly Value[]): Value => new ListValue(list);
    return filter(values, args, { ...this.#bounds, evaluate, toList }) ?? toValue(undefined);
  }

  /** Evaluates arguments and orders them by parameter, named ones included. */
  #arguments(name: string, args: readonly Node[], environment: Environment): (Value | undefined)[] {
    const parameters = PARAMETERS.get(name) ?? [];
    const values: (Value | undefined)[] = [];
    for (const [index, arg] of args.entries()) {
      const isNamed = arg.type === 'KeywordArgumentExpression';
      const at = isNamed ? parameters.indexOf(String(arg.key?.value)) : index;
      if (at === -1) throw new Error(`${name} has no argument ${String(arg.key?.value).slice(0, 40)}`);
      const value = this.evaluate(isNamed ? (arg.value as Node) : arg, environment);
      const { size } = this.#measure(value);
      // The operation reads or prints the whole value.
      if (typeof value.value !== 'string') this.#spend(size);
      values[at] = value;
    }
    return values;
  }

  /** Converts a text to the list of its characters. Other values stay unchanged. */
  #withoutText(value: Value): Value {
    const text: unknown = value.value;
    if (typeof text !== 'string') return value;
    this.#spend(text.length);
    return toValue([...text]);
  }

  #elements({ type, value }: Value): readonly Value[] {
    const inner: unknown = value;
    if (type === 'UndefinedValue') return [];
    const values = inner instanceof Map ? [...inner.keys()].map((key) => toValue(key)) : inner;
    if (!Array.isArray(values)) throw new Error('a filter of lists requires a list');
    this.#spend(values.length);
    return values as Value[];
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
