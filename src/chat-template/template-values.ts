import { Environment, type Interpreter } from '@huggingface/jinja';

import { entriesOf, ExactNumber } from '#base';

/** Kind of a list that is not Python's `list`. */
const KIND = Symbol('kind of a list');
/** A generator is true although it is empty, and its items are read once. Neither it nor a view has a text. */
type Kind = 'tuple' | 'view' | 'generator';

export type Value = ReturnType<Interpreter['evaluate']> & { [KIND]?: Kind };

/** Names that no template can use. */
export const HELD = 'a held value';
export const HELD_TOO = 'another held value';

/** The library's class of a value, which it does not export. */
const classOf = (value: unknown) =>
  new Environment().set(HELD, value).constructor as new (inner: unknown) => Value;
const TextValue = classOf('');
const ListValue = classOf([]);
const ObjectValue = classOf({});
const FloatValue = classOf(0.5);
const WholeValue = classOf(0);

/** Converts a value of JavaScript; most are texts, for which the library's way takes several times as long. */
export const toValue = (value: unknown): Value =>
  typeof value === 'string' ? new TextValue(value) : new Environment().set(HELD, value);

export const withValue = (like: Value, value: unknown): Value =>
  Object.assign(Object.create(like) as Value, { value });

const TRUE = toValue(true);

export function listOf(items: readonly Value[], kind?: Kind): Value {
  const list = new ListValue(items);
  if (!kind) return list;
  return Object.assign(list, { [KIND]: kind }, kind === 'generator' && { __bool__: () => TRUE });
}

export const kindOf = (value: Value): Kind | undefined => value[KIND];

/** Lists the items of a value that Python can iterate over. */
export function itemsOf(value: Value): Value[] {
  const inner: unknown = value.value;
  if (value.type === 'UndefinedValue') return [];
  if (typeof inner === 'string') return itemsOf(toValue([...inner]));
  if (inner instanceof Map) return [...(inner as Map<string, Value>).keys()].map(keyOf);
  if (!Array.isArray(inner)) throw new Error('a value that is no list, text or dictionary has no items');
  return kindOf(value) === 'generator' ? inner.splice(0) : inner;
}

/** Lists the keys and values of a dictionary. */
export function pairsOf({ type, value }: Value): Value[] {
  if (type === 'UndefinedValue') return [];
  if (!(value instanceof Map)) throw new Error('a value that is no dictionary has no keys');
  return [...(value as Map<string, Value>)].map(([key, item]) => listOf([keyOf(key), item], 'tuple'));
}

/** Methods of dictionaries, which a key of the same name does not hide. */
const DICTIONARY_METHODS: ReadonlySet<unknown> = new Set(['get', 'items', 'keys', 'values']);

/** Evaluates `value.key`, or `value[key]`. */
export function memberOf(held: Value, key: unknown, isItem: boolean): Value {
  const inner: unknown = held.value;
  if (inner instanceof Map) {
    const hasMethod = held.type === 'ObjectValue' && DICTIONARY_METHODS.has(key);
    const method = hasMethod ? held.builtins.get(String(key)) : undefined;
    const found = inner.get(typeof key === 'number' ? numberKey(key) : key) as Value | undefined;
    return (isItem ? (found ?? method) : (method ?? found)) ?? UNDEFINED;
  }
  if (typeof key !== 'number') return UNDEFINED;
  if (typeof inner === 'string') return toValue([...inner].at(key));
  return (Array.isArray(inner) && (inner as Value[]).at(key)) || UNDEFINED;
}

export const UNDEFINED = toValue(undefined);

/** Content of a message with calls alone. It is shown as nothing, so that templates may show it before the calls. */
export const NO_CONTENT = toValue(null);

/** Stands before and after a number while a template renders it as a text in JSON, whose quotes are not in the prompt. */
const NUMBER = '\uFDEF';
const EXACT_NUMBERS = /(\\{0,7}["'])\uFDEF([^\uFDEF]*)\uFDEF\1/g;
export const withNumbers = (text: string): string => text.replace(EXACT_NUMBERS, '$2').replaceAll(NUMBER, '');

/** A number as a key, as the library's dictionaries have texts as keys. */
export const numberKey = (number: unknown): string => NUMBER + String(number);
export const keyOf = (key: string): Value => toValue(key.startsWith(NUMBER) ? Number(key.slice(1)) : key);

/** Escapes the characters of JSON that are not ASCII. Marks of those that are stay. */
export const inAscii = (json: string, plain: (text: string) => string): string =>
  json.replaceAll(/[^\0-\x7f\uFDEF]/g, (unit) => {
    const own = plain(unit);
    return own < '\x80' ? unit : `\\u${own.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });

export const ROUNDED = 'it computes with whole numbers beyond 2^53, which would be rounded';

/** Whether JavaScript may have rounded a whole number. */
export const isRounded = (value: unknown): boolean =>
  typeof value === 'number' && !Number.isSafeInteger(value);

/** A number that is written as its text. The library's arithmetic reads its value, and comparisons read `exact`. */
export class WrittenNumber extends Number {
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
  const number = new WrittenNumber(text);
  const isTrue = toValue(Number(text) !== 0);
  const value = new (isFloat(text) ? FloatValue : WholeValue)(number);
  return Object.assign(value, { toString: () => text, __bool__: () => isTrue });
}

/** A computed floating point number, with its text for JSON. Other values stay as they are. */
export function withText(value: Value): Value {
  if (value.type !== 'FloatValue' || typeof value.value !== 'number') return value;
  const size = Math.abs(value.value);
  if (size !== 0 && !(size >= 1e-4 && size < 1e16)) throw new Error('a number has an exponent');
  return exactNumber(value.toString());
}

/** Converts an input to a value. Objects keep the order of their keys, and numbers their text. */
export function toInput(value: unknown): Value {
  if (value instanceof ExactNumber) return exactNumber(value.text);
  if (Number.isInteger(value) && isRounded(value)) return exactNumber(String(value));
  if (Array.isArray(value)) return listOf(value.map(toInput));
  if (typeof value !== 'object' || value === null) return toValue(value);
  const toMember = (key: string, item: unknown) =>
    key === 'content' && item === null ? NO_CONTENT : toInput(item);
  const entries = entriesOf(value as Record<string, unknown>);
  return new ObjectValue(new Map(entries.map(([key, item]) => [key, toMember(key, item)])));
}
