import {
  anyNumber,
  anyObject,
  type ArrayForm,
  canonical,
  type Form,
  type FormReader,
  formsOfTypes,
  literals,
  meetNumbers,
  type NumberForm,
  type ObjectForm,
  type Schema,
  type SchemaObject,
  type StringForm,
  TYPES,
  without,
  wordsOf,
} from './forms.ts';
import { entriesOf, isNumber } from '#base';
import { type Decimal, decimalPlaces, toDecimal, wholeDigits } from './decimal.ts';
import { formatPattern } from './formats.ts';
import { MAX_CHARACTERS } from './grammar.ts';
import { type Language, TooCostlyError } from './language.ts';
import { patternLanguage, UnknownPatternError } from './pattern.ts';
import type { SchemaContext } from './schema-context.ts';

/** Length limits of strings and arrays, whatever their schema allows. */
const MAX_LENGTH = 4096;
const MAX_ITEMS = 1024;
const MAX_STATES_WITH_LENGTH = 2400;

/** Keywords that restrict values and are not enforced. */
const UNKNOWN_KEYWORDS = (
  'if then else dependentSchemas contains minContains maxContains unevaluatedItems unevaluatedProperties ' +
  '$dynamicRef $recursiveRef'
).split(' ');

/** Reads the keywords of one schema that are not about other schemas of the same value. */
export class KeywordForms {
  readonly #reader: FormReader;
  readonly #context: SchemaContext;

  constructor(reader: FormReader, context: SchemaContext) {
    this.#reader = reader;
    this.#context = context;
  }

  read(schema: SchemaObject): Form[] {
    for (const keyword of UNKNOWN_KEYWORDS)
      if (schema[keyword] !== undefined) this.#context.unenforceable(schema, keyword, 'cannot be enforced');
    const { type, enum: values } = schema;
    const types = type === undefined ? TYPES : ([type].flat() as string[]);
    const forms = formsOfTypes(
      types.includes('number') ? types.filter((name) => name !== 'integer') : types,
    ).flatMap((form): Form[] => {
      if (form.kind === 'string') return [this.#string(schema)];
      if (form.kind === 'number') return [this.#number(schema, form.integer)];
      if (form.kind === 'array') return [this.#array(schema)];
      if (form.kind === 'object') return this.#object(schema);
      return [form];
    });
    const constant = Object.hasOwn(schema, 'const') ? [schema['const']] : null;
    const allowed = [values, constant].filter((list): list is unknown[] => Array.isArray(list));
    return allowed.reduce<Form[]>(
      (remaining, list) => this.#reader.meet(remaining, literals(...distinct(list))),
      forms,
    );
  }

  #string(schema: SchemaObject): StringForm {
    const { pattern } = schema;
    // Listed values are valid even if the format is narrower here than its standard.
    const format =
      schema['enum'] === undefined && schema['const'] === undefined ? schema['format'] : undefined;
    const counts = this.#counts(schema, 'minLength', 'maxLength', MAX_LENGTH);
    const known = typeof format === 'string' ? formatPattern(format, typeof pattern === 'string') : '';
    const ofFormat = known ? patternLanguage(this.#reader.languages, known) : null;
    if (typeof pattern !== 'string') {
      if (known === undefined) this.#context.unenforceable(schema, 'format', 'is not known');
      return this.#bounded(schema, counts, ofFormat, 'format');
    }
    const read = () => {
      const language = patternLanguage(this.#reader.languages, pattern);
      const both = ofFormat ? this.#reader.languages.and(language, ofFormat) : language;
      // Some libraries write formats that their own patterns contradict.
      return this.#reader.languages.isNever(both) ? language : both;
    };
    if (!ofFormat)
      return this.#bounded(schema, counts, this.#context.attempt(schema, 'pattern', read), 'pattern');
    try {
      return this.#bounded(schema, counts, read(), 'pattern');
    } catch (error) {
      const isUnread = error instanceof UnknownPatternError || error instanceof SyntaxError;
      if (!isUnread && !(error instanceof TooCostlyError)) throw error;
      return this.#bounded(schema, counts, ofFormat, 'format');
    }
  }

  /** Bounds the length of a string with a pattern: its automaton counts each character. */
  #bounded(
    schema: SchemaObject,
    { min, max }: { min: number; max: number },
    language: Language | null,
    keyword: string,
  ): StringForm {
    if (!language || (min === 0 && max === Infinity)) return { kind: 'string', min, max, language };
    const states = this.#reader.languages.automaton(language).length;
    const most = Math.max(min, Math.floor(MAX_STATES_WITH_LENGTH / states));
    const form: StringForm = {
      kind: 'string',
      min,
      max: Math.min(max, max === Infinity ? max : most),
      language,
    };
    const isBounded = this.#context.attempt(schema, keyword, () =>
      this.#reader.languages.automaton(wordsOf(this.#reader.languages, form)),
    );
    return isBounded ? form : { kind: 'string', min, max, language: null };
  }

  #counts(schema: SchemaObject, low: string, high: string, most: number): { min: number; max: number } {
    const min = Number(schema[low] ?? 0);
    const max = Number(schema[high] ?? Infinity);
    if (min > most) {
      this.#context.unenforceable(schema, low, `is too costly to enforce above ${most}`);
      return { min: 0, max };
    }
    return { min, max: max > most && max !== Infinity ? most : max };
  }

  #number(schema: SchemaObject, integer: boolean): NumberForm {
    const form = { ...anyNumber, integer };
    const [minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf] = NUMBERS.map((keyword) =>
      this.#decimal(schema, keyword),
    );
    // Draft 4 has booleans for exclusive bounds.
    const isOpen = (keyword: string): boolean => schema[keyword] === true;
    const bound = (value: Decimal | undefined, open: boolean) => value && { value, open };
    const parts: NumberForm[] = [{ ...form, ...integerFormat(schema['format']) }];
    for (const [low, high] of [
      [bound(minimum, isOpen('exclusiveMinimum')), bound(maximum, isOpen('exclusiveMaximum'))],
      [bound(exclusiveMinimum, true), bound(exclusiveMaximum, true)],
    ])
      parts.push({ ...form, ...(low && { low }), ...(high && { high }) });
    if (multipleOf) parts.push({ ...form, multiples: [multipleOf] });
    return parts.reduce(meetNumbers);
  }

  /** The number of a keyword; undefined: it has none, or it is not enforced. */
  #decimal(schema: SchemaObject, keyword: (typeof NUMBERS)[number]): Decimal | undefined {
    const number = schema[keyword];
    if (!isNumber(number)) return undefined;
    const value = toDecimal(number);
    const rule = decimalRule(keyword, value);
    if (rule === null) return value;
    this.#context.unenforceable(schema, keyword, rule);
    return undefined;
  }

  #array(schema: SchemaObject): ArrayForm {
    const { items, prefixItems, additionalItems, uniqueItems } = schema;
    // Before draft 2020-12 the elements of a tuple were `items`, and the others `additionalItems`.
    const [prefix, others] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
    const layer = {
      prefix: (Array.isArray(prefix) ? prefix : []) as Schema[],
      ...(others !== undefined && { items: others as Schema }),
    };
    return {
      kind: 'array',
      layers: [layer],
      ...this.#counts(schema, 'minItems', 'maxItems', MAX_ITEMS),
      unique: uniqueItems === true ? schema : null,
    };
  }

  #object(schema: SchemaObject): Form[] {
    const properties = new Map(entriesOf((schema['properties'] ?? {}) as Record<string, Schema>));
    const patterns = Object.entries((schema['patternProperties'] ?? {}) as Record<string, Schema>).flatMap(
      ([pattern, member]) => {
        const language = this.#context.attempt(schema, 'patternProperties', () =>
          patternLanguage(this.#reader.languages, pattern),
        );
        return language ? [[language, member] as const] : [];
      },
    );
    const additional = schema['additionalProperties'] as Schema | undefined;
    const names = schema['propertyNames'] as Schema | undefined;
    const form: ObjectForm = {
      ...anyObject,
      layers: [{ properties, patterns, ...(additional !== undefined && { additional }) }],
      required: bounded((schema['required'] ?? []) as string[]),
      min: Number(schema['minProperties'] ?? 0),
      max: Number(schema['maxProperties'] ?? Infinity),
      minFrom: schema,
      names: names === undefined ? [] : [names],
    };
    return this.#dependencies(schema).reduce<Form[]>(
      (forms, [name, others]) =>
        this.#reader.meet(forms, [without(name), { ...anyObject, required: bounded([name, ...others]) }]),
      [form],
    );
  }

  /** Names that a member requires. Before draft 2019-09 a dependency was a list of names or a schema. */
  #dependencies(schema: SchemaObject): [name: string, others: string[]][] {
    const { dependentRequired = {}, dependencies = {} } = schema;
    const older = Object.entries(dependencies as Record<string, Schema | string[]>);
    const lists = older.filter((entry): entry is [string, string[]] => Array.isArray(entry[1]));
    if (lists.length < older.length)
      this.#context.unenforceable(schema, 'dependencies', 'can be enforced for lists of names alone');
    return [...Object.entries(dependentRequired as Record<string, string[]>), ...lists];
  }
}

const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
/** Digits of bounds before and after the decimal point. */
const MAX_DIGITS = 40;

/** Why a number cannot be enforced as the value of a keyword; null: it can. */
function decimalRule(keyword: string, value: Decimal): string | null {
  const isLarge = wholeDigits(value) > MAX_DIGITS;
  // No number is beyond such a bound.
  const isFree = keyword !== 'multipleOf' && value.isNegative === keyword.endsWith('inimum');
  if (decimalPlaces(value) > MAX_DIGITS || (isLarge && !isFree))
    return `cannot be enforced with more than ${MAX_DIGITS} digits before or after the decimal point`;
  if (keyword !== 'multipleOf') return null;
  if (value.isNegative || value.digits === '0') return 'must be above 0 to be enforced';
  return value.digits.length > 5 || Number(value.digits) > MAX_DIVISOR
    ? 'is too costly to enforce above 10,000, zeros at its end not counted'
    : null;
}

const MAX_DIVISOR = 10_000;

/** Integers of a number of bits: `int32`, `uint8`. */
function integerFormat(format: unknown): Pick<NumberForm, 'low' | 'high'> & { integer?: true } {
  const [name, unsigned, bits = 64] = /^(u?)int(8|16|32|64)?$/.exec(String(format)) ?? [];
  if (name === undefined) return {};
  const values = 2n ** BigInt(bits);
  const low = unsigned ? 0n : -values / 2n;
  return {
    integer: true,
    low: { value: toDecimal(low), open: false },
    high: { value: toDecimal(low + values), open: true },
  };
}

/** The first of the values that are equal. */
export function distinct(values: readonly unknown[]): unknown[] {
  const texts = bounded(values.map(canonical)).toReversed();
  return [...new Map(texts.map((text, index) => [text, values.at(-1 - index)])).values()].toReversed();
}

/**
 * Bounds the length of texts before they become a set: V8 compares long texts of equal length character by
 * character.
 * @throws TooCostlyError if no grammar could have them all
 */
function bounded(texts: string[]): string[] {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_CHARACTERS) throw new TooCostlyError();
  return texts;
}
