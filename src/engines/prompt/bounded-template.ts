import { Environment, Interpreter } from '@huggingface/jinja';

import { pythonText } from './python-text.ts';
import { strftime } from './strftime.ts';
import { LIST_FILTERS } from './template-lists.ts';
import {
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

/** The longest templates have 30 KB. */
const MAX_CHARACTERS = 2 ** 20;
/** The parser takes time with the square of it. */
const MAX_SPACES = 1000;
const MAX_RANGE = 10_000;
const MAX_DATE_FORMAT = 100;
/** One evaluation, and each element of a value that it makes, is a unit: about a microsecond. */
const MAX_WORK = 1_000_000;
const MAX_WORK_A_CHARACTER = 10;
const CHARACTERS_A_UNIT = 64;
/** Characters and elements of one value, its parts included. */
const MAX_SIZE = 2_000_000;
const MAX_SIZE_A_CHARACTER = 4;

/** A text that no template contains. */
const PROBE = 'localtext-content-probe';
const toParts = (text: string) => [{ type: 'text', text }];

export interface TemplateMessage {
  role: string;
  /** null: calls alone, for templates that require it. */
  content: string | null;
  tool_call_id?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: unknown } }[];
}

interface TemplateInput {
  messages: readonly (Pick<TemplateMessage, 'content'> & Partial<TemplateMessage>)[];
  [name: string]: unknown;
}

/**
 * A chat template from a model's file. The evaluations and the sizes of its values are bounded, but one operation may
 * still take long: a worker that can be ended runs it (`chat-prompt.ts`).
 */
export class BoundedTemplate {
  readonly #program: Program;
  /** Whether the template requires message contents as arrays of parts. */
  readonly #takesParts: boolean;

  /** @throws Error when it is no template */
  constructor(source: string) {
    if (source.length > MAX_CHARACTERS) throw new BoundError(`it has more than ${MAX_CHARACTERS} characters`);
    if (new RegExp(`\\s{${MAX_SPACES + 1}}`).test(source))
      throw new BoundError(`it has more than ${MAX_SPACES} spaces in a row`);
    this.#program = parseTemplate(source);
    this.#takesParts = /\bcontent\b/.test(source) && !this.#shows(PROBE) && this.#shows(toParts(PROBE));
  }

  #shows(content: unknown): boolean {
    try {
      const messages = [{ role: 'user', content }];
      return this.#render({ messages, bos_token: '', eos_token: '' }).includes(PROBE);
    } catch {
      return false;
    }
  }

  /** @throws Error also when it exceeds a bound */
  render(items: TemplateInput): string {
    if (!this.#takesParts) return this.#render(items);
    const messages = items.messages.map((message) => ({
      ...message,
      content: message.content === null ? null : toParts(message.content),
    }));
    return this.#render({ ...items, messages });
  }

  /** A template may need lists that no request of localtext has, as Jinja treats an undefined list as an empty one. */
  #render(items: Items): string {
    try {
      return this.#renderOnce(items);
    } catch (error) {
      if (error instanceof BoundError) throw error;
      try {
        return this.#renderOnce({ tools: [], documents: [], ...items });
      } catch {
        throw error;
      }
    }
  }

  #renderOnce(items: Items): string {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...globals, ...items })) environment.set(name, value);
    const { length } = JSON.stringify(items);
    const text = new BoundedInterpreter(environment, length).run(this.#program).value;
    return typeof text === 'string' ? text : '';
  }
}

interface Items {
  messages: readonly unknown[];
  [name: string]: unknown;
}

/** Jinja's own, with a bounded `range`. */
const globals = {
  false: false,
  true: true,
  none: null,
  False: false,
  True: true,
  None: null,
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
  joiner,
  cycler,
};

/** A function that returns nothing when it is called first, and then the text. */
function joiner(text = ', '): () => string {
  let isFirst = true;
  return () => {
    const joins = isFirst ? '' : text;
    isFirst = false;
    return joins;
  };
}

function cycler(...items: readonly unknown[]): { next: () => unknown; reset: () => void } {
  if (items.some((item) => typeof item === 'object' && item !== null))
    throw new Error('cycler() takes texts and numbers here');
  let calls = 0;
  return {
    next: () => items[calls++ % items.length],
    reset: () => void (calls = 0),
  };
}

function boundedRange(first: number, second?: number, by = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / by));
  if (!(length <= MAX_RANGE)) throw new BoundError(`its range() has more than ${MAX_RANGE} numbers`);
  return Array.from({ length }, (_, index) => start + index * by);
}

const toValue = (value: unknown): Value => new Environment().set(HELD, value);

/** Values that the library writes differently from Python, or not at all. */
const WRITTEN = new Set(['ArrayValue', 'BooleanValue', 'NullValue', 'TupleValue', 'UndefinedValue']);

type ListClass = new (values: readonly Value[]) => Value;
/** The library's class of lists, which it does not export. */
const ListValue = toValue([]).constructor as ListClass;

class BoundedInterpreter extends Interpreter {
  readonly #bounds: Bounds;
  readonly #maxWork: number;
  #work = 0;
  /** Sizes of the lists and dictionaries that cannot change: those with a namespace in them can. */
  readonly #sizes = new WeakMap<object, number>();

  /** @param given characters of what it renders */
  constructor(environment: Environment, given: number) {
    super(environment);
    this.#bounds = {
      maxSize: MAX_SIZE + MAX_SIZE_A_CHARACTER * given,
      spend: (work) => this.#spend(work),
    };
    this.#maxWork = MAX_WORK + MAX_WORK_A_CHARACTER * given;
  }

  override evaluate(node: Node | undefined, environment: Environment): Value {
    this.#spend(1);
    const operation = node?.[OPERATION];
    const evaluated = operation ? this.#operate(operation, environment) : super.evaluate(node, environment);
    // The library has no value for the first element of an empty list.
    const known = (evaluated as Value | undefined) ?? toValue(undefined);
    const items = node?.[LOOPED];
    const value = items ? this.#looped(known, items) : known;
    this.#measure(value);
    return node?.[SHOWN] && value.type === 'BooleanValue' ? this.#toText(value) : value;
  }

  /** Text that Python makes of a value. */
  #toText(value: Value): Value {
    // It is read whole.
    this.#spend(this.#measure(value).size);
    const text = toValue(pythonText(value));
    this.#measure(text);
    return text;
  }

  /** What a loop goes through. A text has no items with attributes. */
  #looped(value: Value, items: 'any' | 'attributes'): Value {
    const list =
      items === 'attributes' && typeof value.value === 'string' ? toValue([]) : this.#withoutText(value);
    const inner: unknown = list.value;
    // A loop makes objects for all of its rounds before the first.
    if (Array.isArray(inner)) this.#spend(inner.length);
    else if (inner instanceof Map) this.#spend(inner.size);
    return list;
  }

  /** Does what the library cannot, where the operand is a text, or a list. */
  #operate({ kind, name, operand, args, otherwise }: Operation, environment: Environment): Value {
    const scope = new Environment(environment);
    const held = scope.setVariable(HELD, this.evaluate(operand, environment));
    if (kind === 'list filter') {
      const list = scope.setVariable(HELD, this.#withoutText(held));
      const filter = LIST_FILTERS.get(name);
      return filter
        ? this.#filtered(filter, this.#elements(list), this.#arguments(name, args, environment), environment)
        : super.evaluate(otherwise, scope);
    }
    if (kind === 'to text' && WRITTEN.has(held.type)) return this.#toText(held);
    const text: unknown = held.value;
    if (typeof text !== 'string' || kind === 'to text') return super.evaluate(otherwise, scope);
    const isFormat = name === 'format' || name === '%';
    const given = this.#arguments(name, args, environment).map(
      (value) => value && plain(isFormat && WRITTEN.has(value.type) ? this.#toText(value) : value),
    );
    return toValue(this.#textOperation(kind, name, text, given));
  }

  #textOperation(kind: Operation['kind'], name: string, text: string, given: readonly Plain[]): Plain {
    if (kind !== 'operator')
      return (kind === 'method' ? TEXT_METHODS : TEXT_FILTERS).get(name)?.(text, given, this.#bounds);
    if (name === '%') return percentFormat(text, given, this.#bounds);
    const [first] = given;
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
    return filter(values, args, { ...this.#bounds, evaluate, toValue, toList }) ?? toValue(undefined);
  }

  /** Values of arguments in their order, also of those that are named. */
  #arguments(name: string, args: readonly Node[], environment: Environment): (Value | undefined)[] {
    const parameters = PARAMETERS.get(name) ?? [];
    const values: (Value | undefined)[] = [];
    for (const [index, arg] of args.entries()) {
      const isNamed = arg.type === 'KeywordArgumentExpression';
      const at = isNamed ? parameters.indexOf(String(arg.key?.value)) : index;
      if (at === -1) throw new Error(`${name} has no argument ${String(arg.key?.value).slice(0, 40)}`);
      const value = this.evaluate(isNamed ? (arg.value as Node) : arg, environment);
      const { size } = this.#measure(value);
      // It is read whole, or printed.
      if (typeof value.value !== 'string') this.#spend(size);
      values[at] = value;
    }
    return values;
  }

  /** A text as the list of its characters; other values as they are. */
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

  /** Characters and elements of a value. Parts that several names hold count each time: as a text, they are repeated. */
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

/** A value without its type. */
function plain({ value }: Value): Plain {
  const inner: unknown = value;
  if (Array.isArray(inner)) return (inner as Value[]).map(plain);
  if (inner !== null && (typeof inner === 'object' || typeof inner === 'function'))
    throw new Error('an argument must be no dictionary');
  return inner as Plain;
}
