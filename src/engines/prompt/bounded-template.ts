import { Environment, Interpreter, Template } from '@huggingface/jinja';

/** The longest templates have 30 KB. */
const MAX_CHARACTERS = 2 ** 20;
/** The parser takes time with the square of it. */
const MAX_SPACES = 1000;
const MAX_RANGE = 10_000;
/** One evaluation, and each element of a value that it makes, is a unit: about a microsecond. */
const MAX_WORK = 1_000_000;
const MAX_WORK_A_CHARACTER = 10;
const CHARACTERS_A_UNIT = 64;
/** Characters and elements of one value, its parts included. */
const MAX_SIZE = 2_000_000;
const MAX_SIZE_A_CHARACTER = 4;

/** A name that no template can use. */
const KEY = 'a key';

/** A text that no template contains. */
const PROBE = 'localtext-content-probe';
const toParts = (text: string) => [{ type: 'text', text }];

/** A template exceeds a bound. */
export class BoundError extends Error {}

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
 * still take long: a worker that can be ended runs it (`template-worker.ts`).
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
    this.#program = new Template(withoutCarriageReturns(source)).parsed;
    allowWhatJinjaAllows(this.#program);
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

/** Reads line ends as Jinja does: all of them are `\n`. */
const withoutCarriageReturns = (source: string): string => source.replaceAll(/\r\n?/g, '\n');

const dates = new Template('{{ strftime_now(format) }}');

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
  strftime_now: (format: string): string => dates.render({ format }),
};

function boundedRange(first: number, second?: number, by = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / by));
  if (!(length <= MAX_RANGE)) throw new BoundError(`its range() has more than ${MAX_RANGE} numbers`);
  return Array.from({ length }, (_, index) => start + index * by);
}

type Program = Template['parsed'];
type Evaluate = Interpreter['evaluate'];
type Node = Parameters<Evaluate>[0];
type Value = ReturnType<Evaluate>;

class BoundedInterpreter extends Interpreter {
  readonly #maxSize: number;
  readonly #maxWork: number;
  #work = 0;
  /** Sizes of the lists and dictionaries that cannot change: those with a namespace in them can. */
  readonly #sizes = new WeakMap<object, number>();

  /** @param given characters of what it renders */
  constructor(environment: Environment, given: number) {
    super(environment);
    this.#maxSize = MAX_SIZE + MAX_SIZE_A_CHARACTER * given;
    this.#maxWork = MAX_WORK + MAX_WORK_A_CHARACTER * given;
  }

  override evaluate(node: Node, environment: Environment): Value {
    this.#spend(1);
    const value = super.evaluate(node, environment);
    const { size } = this.#measure(value);
    // A loop makes objects for all of its rounds before the first.
    if (node && ITERABLE in node) this.#spend(size);
    return value;
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
        if (size > this.#maxSize) break;
      }
    if (size > this.#maxSize)
      throw new BoundError(`it makes a value of more than ${this.#maxSize} characters or elements`);
    if (isContainer && isFixed) this.#sizes.set(value, size);
    return { size, isFixed };
  }
}

interface Parts {
  type?: unknown;
  object?: unknown;
  computed?: unknown;
  lhs?: unknown;
  value?: unknown;
  iterable?: Parts;
  property?: Parts;
}

/** Marks the nodes that a loop goes through. */
const ITERABLE = Symbol('iterable');

const isParts = (value: unknown): value is Parts => typeof value === 'object' && value !== null;

/** The nodes below a node; those of a dictionary are in a map. */
function childrenOf(node: Parts): Parts[] {
  const entries = node.value instanceof Map ? [...node.value].flat() : [];
  return [...Object.values(node), ...entries].filter(isParts);
}

/** Rewrites what Jinja takes and the library does not. */
function allowWhatJinjaAllows(node: Parts): void {
  for (const child of childrenOf(node)) allowWhatJinjaAllows(child);
  allowUndefinedList(node);
  allowNumberKeys(node);
}

/** A loop over nothing has no rounds, as in Jinja; the library throws. */
function allowUndefinedList(node: Parts): void {
  const orEmpty = (left: unknown): object => ({
    [ITERABLE]: true,
    type: 'BinaryExpression',
    operator: { type: 'BinaryOperator', value: 'or' },
    left,
    right: { type: 'ArrayLiteral', value: [] },
  });
  if (node.type === 'SelectExpression') node.lhs = orEmpty(node.lhs);
  else if (node.type === 'For' && node.iterable && node.iterable.type !== 'SelectExpression')
    node.iterable = orEmpty(node.iterable);
}

/** The library knows keys of dictionaries that are strings. */
function allowNumberKeys(node: Parts): void {
  if (node.type === 'ObjectLiteral' && node.value instanceof Map) {
    const entries = [...(node.value as Map<Parts, Parts>)];
    node.value = new Map(entries.map(([key, value]) => [isNumber(key) ? asText(key) : key, value]));
  } else if (node.type === 'MemberExpression' && node.computed && isParts(node.object)) {
    const { object, property } = node;
    // Its object is computed twice, so it is one without costs.
    if (object.type === 'Identifier' && property && property.type !== 'SliceExpression')
      node.property = { type: 'CallExpression', callee: identifier(KEY), args: [object, property] } as Parts;
  }
}

const identifier = (value: string): Parts => ({ type: 'Identifier', value });
const isNumber = ({ type }: Parts): boolean => type === 'IntegerLiteral' || type === 'FloatLiteral';
const asText = ({ value }: Parts): Parts => ({ type: 'StringLiteral', value: String(value) });

function keyOf(object: unknown, key: unknown): unknown {
  return object instanceof Map && typeof key === 'number' ? String(key) : key;
}
