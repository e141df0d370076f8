import { isNumber, omitNulls } from '#base';
import { compare, type Decimal, isMultiple, textOf, toDecimal } from './decimal.ts';
import type { Language, Languages } from './language.ts';
import type { Bound, NumberRange } from './numbers.ts';

export type Schema = boolean | SchemaObject;
export type SchemaObject = Record<string, unknown>;

export interface StringForm {
  kind: 'string';
  min: number;
  max: number;
  /** Language of marked words; null: any text. */
  language: Language | null;
}

export type NumberForm = NumberRange & { kind: 'number' };

export interface ArrayForm {
  kind: 'array';
  layers: { prefix: readonly Schema[]; items?: Schema }[];
  min: number;
  max: number;
  /** The schema that requires unique elements. */
  unique: SchemaObject | null;
}

export interface ObjectLayer {
  properties: ReadonlyMap<string, Schema>;
  patterns: (readonly [Language, Schema])[];
  additional?: Schema;
}

export interface ObjectForm {
  kind: 'object';
  /** Constraints of each schema on its members; all apply. */
  layers: ObjectLayer[];
  required: string[];
  min: number;
  max: number;
  /** The schema that `min` comes from. */
  minFrom: SchemaObject | null;
  /** Schemas of the names. */
  names: Schema[];
}

/** One form that a value may have. The forms of a schema are alternatives. */
export type Form = { kind: 'literal'; value: unknown } | StringForm | NumberForm | ArrayForm | ObjectForm;

export const anyString: StringForm = { kind: 'string', min: 0, max: Infinity, language: null };
export const anyNumber: NumberForm = { kind: 'number', integer: false, multiples: [] };
const anyCount = { min: 0, max: Infinity };
const anyArray: ArrayForm = { kind: 'array', layers: [], ...anyCount, unique: null };
export const anyObject: ObjectForm = {
  kind: 'object',
  layers: [],
  required: [],
  ...anyCount,
  minFrom: null,
  names: [],
};

export const literals = (...values: unknown[]): Form[] => values.map((value) => ({ kind: 'literal', value }));

export const TYPES = ['null', 'boolean', 'string', 'number', 'array', 'object'];

/** Reads schemas as the forms that their values may have. */
export interface FormReader {
  readonly languages: Languages;
  /** Forms of the values that fit all of these schemas. A schema that refers only to itself has none. */
  formsOf(schemas: readonly Schema[]): Form[];
  /** Forms of the values that have one form of each side. */
  meet(left: Form[], right: Form[]): Form[];
}

const FORMS_OF: Record<string, Form[]> = {
  null: literals(null),
  boolean: literals(true, false),
  string: [anyString],
  number: [anyNumber],
  integer: [{ ...anyNumber, integer: true }],
  array: [anyArray],
  object: [anyObject],
};

export const formsOfTypes = (types: readonly string[]): Form[] =>
  types.flatMap((type) => FORMS_OF[type] ?? []);

/** Objects that lack a member. */
export const without = (name: string): Form => ({
  ...anyObject,
  layers: [{ properties: new Map([[name, false]]), patterns: [] }],
});

/** The marked words of a form, its lengths included. */
export function wordsOf(
  { all, and, character, repeat, word }: Languages,
  { min, max, language }: StringForm,
): Language {
  const words = language ?? all;
  return min === 0 && max === Infinity ? words : and(words, word(repeat(character, min, max)));
}

const texts = new WeakMap<object, string>();

/** Serializes a value: equal values have one text, whatever the order of their members. */
export function canonical(value: unknown): string {
  if (isNumber(value)) return textOf(toDecimal(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const text = texts.get(value) ?? canonicalMembers(value);
  texts.set(value, text);
  return text;
}

function canonicalMembers(value: object): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`,
  );
  return `{${members.toSorted().join()}}`;
}

/** Intersects two forms; null: no value has both. The caller handles literals. */
export function meetForms(
  a: Exclude<Form, { kind: 'literal' }>,
  b: Exclude<Form, { kind: 'literal' }>,
  and: (a: Language, b: Language) => Language,
): Form | null {
  if (a.kind === 'string' && b.kind === 'string') {
    const language = a.language && b.language ? and(a.language, b.language) : (a.language ?? b.language);
    return { kind: 'string', ...meetCounts(a, b), language };
  }
  if (a.kind === 'number' && b.kind === 'number') return meetNumbers(a, b);
  if (a.kind === 'array' && b.kind === 'array')
    return {
      kind: 'array',
      ...meetCounts(a, b),
      layers: [...a.layers, ...b.layers],
      unique: a.unique ?? b.unique,
    };
  if (a.kind !== 'object' || b.kind !== 'object') return null;
  return {
    kind: 'object',
    ...meetCounts(a, b),
    layers: [...a.layers, ...b.layers],
    required: [...new Set([...a.required, ...b.required])],
    minFrom: a.min >= b.min ? a.minFrom : b.minFrom,
    names: [...a.names, ...b.names],
  };
}

type Counts = { min: number; max: number };

const meetCounts = (a: Counts, b: Counts): Counts => ({
  min: Math.max(a.min, b.min),
  max: Math.min(a.max, b.max),
});

export function meetNumbers(a: NumberForm, b: NumberForm): NumberForm {
  const low = narrower(a.low, b.low, 1);
  const high = narrower(a.high, b.high, -1);
  return {
    kind: 'number',
    integer: a.integer || b.integer,
    ...omitNulls({ low, high }),
    multiples: [...new Map([...a.multiples, ...b.multiples].map((each) => [textOf(each), each])).values()],
  };
}

function narrower(a: Bound | undefined, b: Bound | undefined, sign: 1 | -1): Bound | undefined {
  if (!a || !b) return a ?? b;
  const order = compare(a.value, b.value) * sign;
  if (order === 0) return a.open ? a : b;
  return order > 0 ? a : b;
}

export function numberAccepts(form: NumberForm, value: Decimal): boolean {
  const { low, high, integer, multiples } = form;
  if (integer && value.exponent < 0) return false;
  if (low && !isBeyond(low, value, 1)) return false;
  if (high && !isBeyond(high, value, -1)) return false;
  return multiples.every((of) => isMultiple(value, of));
}

/** Whether a value is on the allowed side of a bound. */
function isBeyond(bound: Bound, value: Decimal, sign: 1 | -1): boolean {
  const order = compare(value, bound.value) * sign;
  return order > 0 || (order === 0 && !bound.open);
}

/** Whether a range has no number. Only bounds are compared. */
export const isEmptyRange = ({ low, high }: NumberForm): boolean =>
  !!low && !!high && !(isBeyond(low, high.value, 1) && isBeyond(high, low.value, -1));
