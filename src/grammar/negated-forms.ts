import {
  anyArray,
  anyNumber,
  anyObject,
  anyString,
  type Form,
  type FormReader,
  formsOfTypes,
  literals,
  type Schema,
  TYPES,
  without,
} from './forms.ts';
import { isNumber, isObject } from '#base';
import { type Decimal, toDecimal } from './decimal.ts';
import { patternLanguage } from './pattern.ts';
import { isUnenforceable, type SchemaContext } from './schema-context.ts';

/** Forms of values that break a bound of a number. */
const BEYOND_NUMBER = new Map<string, (value: Decimal) => Form>([
  ['minimum', (value) => ({ ...anyNumber, high: { value, open: true } })],
  ['maximum', (value) => ({ ...anyNumber, low: { value, open: true } })],
  ['exclusiveMinimum', (value) => ({ ...anyNumber, high: { value, open: false } })],
  ['exclusiveMaximum', (value) => ({ ...anyNumber, low: { value, open: false } })],
]);

/** Forms of values that break a bound of a length. */
const BEYOND_LENGTH = new Map<string, (bound: number) => Form[]>([
  ['minLength', (min) => (min === 0 ? [] : [{ ...anyString, max: min - 1 }])],
  ['maxLength', (max) => [{ ...anyString, min: max + 1 }]],
  ['minItems', (min) => (min === 0 ? [] : [{ ...anyArray, max: min - 1 }])],
  ['maxItems', (max) => [{ ...anyArray, min: max + 1 }]],
]);

/**
 * Reads forms of values that do not fit a schema: not always all of them, as the values that break some
 * keywords have no form.
 */
export class NegatedForms {
  readonly #reader: FormReader;
  readonly #context: SchemaContext;
  readonly #negations = new Map<Schema, Schema>();
  /** Schemas that negate others. They are in no request. */
  readonly made = new Set<Schema>();

  constructor(reader: FormReader, context: SchemaContext) {
    this.#reader = reader;
    this.#context = context;
  }

  read(schema: Schema): Form[] {
    if (typeof schema === 'boolean') return schema ? [] : formsOfTypes(TYPES);
    return Object.entries(schema).flatMap(([keyword, value]) => this.#breaking(keyword, value));
  }

  /** Negation of a schema: always the same object, so that equal lists of schemas have one key. */
  #negation(schema: Schema): Schema {
    if (typeof schema === 'boolean') return !schema;
    const known = this.#negations.get(schema) ?? { not: schema };
    this.#negations.set(schema, known);
    this.made.add(known);
    return known;
  }

  /** Forms of values that break a keyword. */
  #breaking(keyword: string, value: unknown): Form[] {
    const beyond = BEYOND_NUMBER.get(keyword);
    // Draft 4 has booleans for exclusive bounds: the bound itself is left out, too.
    if (beyond) return isNumber(value) ? [beyond(toDecimal(value))] : [];
    try {
      const beyondLength = BEYOND_LENGTH.get(keyword);
      if (beyondLength) return beyondLength(Number(value));
      return this.#breakingSchemas(keyword, value) ?? this.#breakingValues(keyword, value);
    } catch (error) {
      if (isUnenforceable(error)) return [];
      throw error;
    }
  }

  #breakingValues(keyword: string, value: unknown): Form[] {
    const { languages } = this.#reader;
    switch (keyword) {
      case 'type': {
        const types = new Set([value].flat());
        const isOther = (type: string) => !types.has(type) && !(type === 'number' && types.has('integer'));
        return formsOfTypes(TYPES.filter(isOther));
      }
      case 'const':
        return this.#except([value]);
      case 'enum':
        return this.#except(value as unknown[]);
      case 'pattern':
        return [{ ...anyString, language: languages.not(patternLanguage(languages, String(value))) }];
      case 'required':
        return (value as string[]).map(without);
      default:
        return [];
    }
  }

  #breakingSchemas(keyword: string, value: unknown): Form[] | null {
    const { formsOf, meet } = this.#reader;
    switch (keyword) {
      case 'items':
        return Array.isArray(value)
          ? this.#breakingElements(value)
          : this.#breakingElements([value as Schema]);
      case 'prefixItems':
        return this.#breakingElements(value as Schema[]);
      case 'properties':
        return Object.entries(value as Record<string, Schema>).map(([name, member]): Form => {
          const properties = new Map([[name, this.#negation(member)]]);
          return { ...anyObject, required: [name], layers: [{ properties, patterns: [] }] };
        });
      case 'anyOf':
        return (value as Schema[]).map((branch) => this.read(branch)).reduce(meet, formsOfTypes(TYPES));
      case 'allOf':
        return (value as Schema[]).flatMap((part) => this.read(part));
      case 'not':
        return formsOf([value as Schema]);
      case '$ref': {
        const target = this.#context.target(String(value));
        return target === undefined ? null : this.read(target);
      }
      default:
        return null;
    }
  }

  /** Forms of arrays in which one of the first elements does not fit its schema. */
  #breakingElements(schemas: readonly Schema[]): Form[] {
    return schemas.map((schema, index): Form => {
      const prefix = [...Array<Schema>(index).fill(true), this.#negation(schema)];
      return { ...anyArray, min: index + 1, layers: [{ prefix, items: true }] };
    });
  }

  /**
   * Forms of the values other than these. If one of these is an array or an object, all arrays or objects are
   * left out.
   */
  #except(values: readonly unknown[]): Form[] {
    const texts = values.filter((value) => typeof value === 'string');
    const words = texts.map((text) => this.#reader.languages.word(this.#reader.languages.text(text)));
    const except = values.filter(isNumber).map(toDecimal);
    const kept = [null, true, false].filter((value) => !values.includes(value));
    const language =
      words.length === 0 ? null : this.#reader.languages.not(this.#reader.languages.or(...words));
    const nested = values.filter((value) => Array.isArray(value) || isObject(value));
    return [
      ...literals(...kept),
      { ...anyString, language },
      { ...anyNumber, except },
      ...(nested.some(Array.isArray) ? [] : [anyArray]),
      ...(nested.some((value) => !Array.isArray(value)) ? [] : [anyObject]),
    ];
  }
}
