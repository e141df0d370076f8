import { invalidField, isObject, valueAt } from '#base';
import type { SchemaPart } from '#jobs';
import type { Schema, SchemaObject } from './forms.ts';
import { TooCostlyError } from './language.ts';
import { UnknownPatternError } from './pattern.ts';
import { targetOf } from './schema-references.ts';

export const WHOLE: SchemaPart = { at: [], param: 'response_format', strict: true };

/** Keywords left out of parts that are not strict: none at first, then bounds, then everything but types. */
export const LOOSENESS = ['none', 'bounds', 'all'] as const;

const BOUNDS = (
  'minLength maxLength pattern format multipleOf minItems maxItems uniqueItems minimum maximum exclusiveMinimum ' +
  'exclusiveMaximum minProperties maxProperties propertyNames patternProperties'
).split(' ');

interface Place extends Pick<SchemaPart, 'strict' | 'isKeyword'> {
  path: string;
}

/** Maximum places that are collected. A warning names one fewer, and says that there are others. */
const MAX_PLACES = 17;
/** Maximum characters of a key in a place, which has the keys of all schemas around it. */
const MAX_KEY = 64;

/** The request's schemas, and the policy for keywords that cannot be enforced. */
export class SchemaContext {
  readonly loosenedPlaces = new Set<string>();
  readonly #root: SchemaObject;
  readonly #places = new Map<object, Place>();
  readonly #looseness: (typeof LOOSENESS)[number];
  readonly #loosened = new Map<SchemaObject, SchemaObject>();

  constructor(root: SchemaObject, parts: readonly SchemaPart[], looseness: (typeof LOOSENESS)[number]) {
    this.#root = root;
    this.#looseness = looseness;
    for (const { at, param, ...place } of parts) this.#name(valueAt(root, at), param, place);
  }

  #name(value: unknown, path: string, { strict, isKeyword }: Omit<Place, 'path'>): void {
    const open: [value: unknown, path: string][] = [[value, path]];
    for (let next = open.pop(); next; next = open.pop()) {
      const [inner, at] = next;
      if (typeof inner !== 'object' || inner === null) continue;
      this.#places.set(inner, { path: at, strict, ...(isKeyword && { isKeyword }) });
      const isList = Array.isArray(inner);
      for (const [key, child] of Object.entries(inner))
        open.push([child, isList ? `${at}[${key}]` : `${at}.${key.slice(0, MAX_KEY)}`]);
    }
  }

  /** The place of the last of these schemas that the request has. */
  lastPlace(schemas: readonly Schema[]): string | undefined {
    return schemas.flatMap((schema) => this.#placeOf(schema)?.path ?? []).at(-1);
  }

  /** Whether a schema around those of the request refers to a strict one. */
  isStrictPart(schema: Schema | undefined): boolean {
    return !this.#places.has(Object(schema) as object) && Boolean(this.#placeOf(schema)?.strict);
  }

  /** Place of a schema, or of the one that the schema around it refers to. */
  #placeOf(schema: Schema | undefined): Place | undefined {
    const own = this.#places.get(Object(schema) as object);
    if (own || !isObject(schema) || typeof schema['$ref'] !== 'string') return own;
    return this.#places.get(Object(this.target(schema['$ref'])) as object);
  }

  /** Schema at a reference; undefined: there is no such place. */
  target(reference: string): Schema | undefined {
    return targetOf(reference, this.#root);
  }

  /** The schema without the keywords that are not enforced in it. */
  loosened(schema: SchemaObject): SchemaObject {
    const place = this.#places.get(schema);
    if (this.#looseness === 'none' || !place || place.strict) return schema;
    const known = this.#loosened.get(schema);
    if (known) return known;
    const kept =
      this.#looseness === 'bounds' ? this.#withoutBounds(schema, place) : this.#typeOf(schema, place);
    this.#loosened.set(schema, kept);
    this.#places.set(kept, place);
    return kept;
  }

  #withoutBounds(schema: SchemaObject, { path }: Place): SchemaObject {
    const dropped = BOUNDS.filter((key) => schema[key] !== undefined);
    const { oneOf, anyOf } = schema;
    // Any of the branches costs less than one alone.
    const joined = oneOf !== undefined && anyOf === undefined ? { anyOf: oneOf } : null;
    if (joined) dropped.push('oneOf');
    for (const key of dropped) this.#addLoosened(`${path}.${key}`);
    const kept = Object.entries(schema).filter(([key]) => !dropped.includes(key));
    return { ...Object.fromEntries(kept), ...joined };
  }

  #typeOf({ type }: SchemaObject, { path }: Place): SchemaObject {
    this.#addLoosened(path);
    return type === undefined ? {} : { type };
  }

  #addLoosened(place: string): void {
    if (this.loosenedPlaces.size < MAX_PLACES) this.loosenedPlaces.add(place);
  }

  /** Runs `make`; null if the keyword that it reads cannot be enforced and need not be. */
  attempt<Made>(schema: SchemaObject, keyword: string, make: () => Made): Made | null {
    try {
      return make();
    } catch (error) {
      const rule = ruleOf(error);
      if (rule === undefined) throw error;
      this.unenforceable(schema, keyword, rule);
      return null;
    }
  }

  /** Handles a keyword that cannot be enforced. Throws if it must be enforced. */
  unenforceable(schema: SchemaObject, keyword: string, rule: string): void {
    const place: Place = this.#places.get(schema) ?? { path: WHOLE.param, strict: true };
    const { path, strict } = place;
    const param = place.isKeyword ? path : `${path}.${keyword}`;
    if (!strict) return this.#addLoosened(param);
    const instead =
      strict === 'keywords'
        ? 'send the schema as `response_format`, which leaves it out'
        : 'use a schema that is not `strict`';
    // The expression of a custom tool.
    const advice = place.isKeyword ? 'write another, or omit `format`' : `leave it out, or ${instead}`;
    throw invalidField(param, `${rule}: ${advice}`, 'invalid_json_schema');
  }
}

function ruleOf(error: unknown): string | undefined {
  if (error instanceof TooCostlyError) return 'is too costly to enforce';
  if (error instanceof UnknownPatternError) return error.message;
  return error instanceof SyntaxError ? 'cannot be read' : undefined;
}
