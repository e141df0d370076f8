/**
 * JSON without loss: numbers keep their text, and objects the order of their keys. `JSON.parse` rounds
 * `2512292042121000001`, writes `1.0` as `1`, and moves keys such as `"2"` to the front.
 */

/** A number that JavaScript would write differently: `1.0`, `1e400`, `2512292042121000001`. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  valueOf(): number {
    return Number(this.text);
  }

  /** `JSON.stringify` rounds it. */
  toJSON(): number {
    return Number(this.text);
  }
}

/** Whether a value is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

export const isNumber = (value: unknown): value is number | ExactNumber =>
  typeof value === 'number' || value instanceof ExactNumber;

/** The keys of an object in the order of its text, if JavaScript has another order. */
const KEYS = Symbol('keys');
/** Keys that JavaScript may move to the front. */
const INDEX = /^\d/;

type JsonObject = Record<string, unknown> & { [KEYS]?: string[] };

/** Members of an object in the order of its text. */
export function entriesOf<Value>(object: Readonly<Record<string, Value>>): [string, Value][] {
  const keys = (object as JsonObject)[KEYS];
  return keys ? keys.map((key) => [key, object[key] as Value]) : Object.entries(object);
}

/** Makes an object that keeps the order of its members. The last of several members of one name counts. */
export function fromEntries<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  const object = Object.fromEntries(entries) as Record<string, Value>;
  if (entries.some(([key]) => INDEX.test(key)))
    Object.defineProperty(object, KEYS, { value: [...new Set(entries.map(([key]) => key))] });
  return object;
}

/** Copies a JSON value. @param replace makes the copy's member of the value's */
export function copyJson(
  value: unknown,
  replace = (_key: string, member: unknown): unknown => member,
): unknown {
  if (Array.isArray(value)) return value.map((item) => copyJson(item, replace));
  if (!isObject(value)) return value;
  return fromEntries(entriesOf(value).map(([key, member]) => [key, copyJson(replace(key, member), replace)]));
}

/** Writes a value as JSON, without spaces. */
export const writeJson = (value: unknown): string =>
  isPlain(value) ? JSON.stringify(value) : writeExact(value);

/** Whether `JSON.stringify`, which is faster, keeps all of a value. */
function isPlain(value: unknown): boolean {
  if (!isContainer(value)) return true;
  return !(value instanceof ExactNumber || KEYS in value) && Object.values(value).every(isPlain);
}

function writeExact(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (!isContainer(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => writeExact(item ?? null)).join(',')}]`;
  const members = entriesOf(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${writeExact(member)}`).join(',')}}`;
}

/** Reads a valid JSON text. */
export const readJson = (text: string): unknown => new JsonReader(text).value();

/** The place of the first fault of a text that is not JSON. */
export function placeOfFault(text: string): { line: number; column: number } {
  const fault = new JsonReader(text).fault();
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n') + 1; next > 0 && next <= fault; next = text.indexOf('\n', start) + 1) {
    line++;
    start = next;
  }
  return { line, column: fault - start + 1 };
}

/** Places of values in a JSON text: `true` is one, and `*` stands for every element of an array. */
export interface Places {
  [key: string]: Places | true;
}

/**
 * Replaces the values at some places of a parsed JSON text, which have lost numbers and order, by exact ones.
 * The rest of the text is skipped.
 */
export function restoreExact(text: string, parsed: object, places: Places): void {
  if (hasPlaces(parsed, places)) restore(new JsonReader(text), parsed, places);
}

function restore(reader: JsonReader, parsed: unknown, places: Places | true): unknown {
  // An earlier member of the same name may be of another type than the last one, which `parsed` has.
  if (!hasPlaces(parsed, places) || !reader.isAt(parsed)) {
    reader.skip();
    return parsed;
  }
  if (places === true) {
    const text = reader.skip();
    return writeJson(parsed) === text ? parsed : readJson(text);
  }
  for (const key of reader.keys()) {
    const place = Array.isArray(parsed) ? '*' : key;
    const inner = Object.hasOwn(places, place) && places[place];
    // `parsed` has the last of several members with one name.
    if (!inner || !Object.hasOwn(parsed, key)) reader.skip();
    else parsed[key] = restore(reader, parsed[key], inner);
  }
  return parsed;
}

const isContainer = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

/** Whether a value has objects or arrays at some of the places. */
function hasPlaces(value: unknown, places: Places | true): value is JsonObject {
  if (!isContainer(value) || places === true) return isContainer(value);
  const { '*': element } = places;
  if (Array.isArray(value)) return element !== undefined && value.some((item) => hasPlaces(item, element));
  return Object.entries(places).some(([key, inner]) => hasPlaces(value[key], inner));
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /[^ \t\n\r,\]}]*/y;
const BRACKET_OR_QUOTE = /["[\]{}]/g;

/** Reads the values of a JSON text one after another. @throws SyntaxError at the first fault */
class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    const first = this.#next();
    if (first === '"') return this.#string();
    if (first !== '{' && first !== '[') return this.#scalar();
    if (first === '[') return Array.from(this.keys(), () => this.value());
    return fromEntries(Array.from(this.keys(), (key) => [key, this.value()] as const));
  }

  /** Position of the first fault; the end of the text if it has none. */
  fault(): number {
    try {
      this.value();
      this.#next();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
    return this.#at;
  }

  /** Whether the next value is of the same type as this array or object. */
  isAt(container: object): boolean {
    return this.#next() === (Array.isArray(container) ? '[' : '{');
  }

  /** Yields the keys of an object or array. The caller reads or skips the value after each. */
  *keys(): Generator<string> {
    const isList = this.#next() === '[';
    const end = isList ? ']' : '}';
    this.#at++;
    for (let index = 0; index > 0 || this.#next() !== end; index++) {
      if (isList) yield String(index);
      else {
        const key = this.#string();
        this.#take(':');
        yield key;
      }
      if (this.#next() !== ',') break;
      this.#at++;
    }
    this.#take(end);
  }

  /** Skips the next value, and returns its text. */
  skip(): string {
    const first = this.#next();
    const start = this.#at;
    if (first === '"') this.#skipString();
    else if (first === '{' || first === '[') this.#skipBrackets();
    else this.#pass(SCALAR);
    return this.#text.slice(start, this.#at);
  }

  #skipBrackets(): void {
    let depth = 0;
    do {
      this.#pass(BRACKET_OR_QUOTE);
      const found = this.#text.charAt(--this.#at);
      if (found === '"') this.#skipString();
      else {
        depth += found === '{' || found === '[' ? 1 : -1;
        this.#at++;
      }
    } while (depth > 0);
  }

  /** Passes what the expression matches. `test()` is faster than a match, which makes a list. */
  #pass(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) throw notJson();
    this.#at = pattern.lastIndex;
  }

  /** The next character that is no white space. */
  #next(): string {
    this.#pass(SPACE);
    return this.#text.charAt(this.#at);
  }

  #take(character: string): void {
    if (this.#next() !== character) throw notJson();
    this.#at++;
  }

  #scalar(): unknown {
    const start = this.#at;
    const text = this.skip();
    const value = this.#parse(start);
    return typeof value === 'number' && String(value) !== text ? new ExactNumber(text) : value;
  }

  #string(): string {
    const start = this.#at;
    if (this.#next() !== '"') throw notJson();
    this.#skipString();
    return this.#parse(start) as string;
  }

  /** Parses what was read. */
  #parse(start: number): unknown {
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch (error) {
      this.#at = start;
      throw error;
    }
  }

  #skipString(): void {
    let end = this.#at;
    do {
      end = this.#text.indexOf('"', end + 1);
      if (end === -1) throw notJson();
    } while (this.#isEscaped(end));
    this.#at = end + 1;
  }

  #isEscaped(at: number): boolean {
    let backslashes = 0;
    while (this.#text.charAt(at - 1 - backslashes) === '\\') backslashes++;
    return backslashes % 2 === 1;
  }
}

const notJson = () => new SyntaxError('the text is not JSON');
