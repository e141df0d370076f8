import { describe, shortened } from './schema-issues.ts';
import { invalidField, type ServiceError } from '../service-error.ts';

export type Schema = Record<string, unknown>;

/**
 * What a grammar of these sizes costs an engine: docs/decisions/schema-bounds.md. Each schema of a request draws on one
 * budget.
 */
const MAX_NODES = 2000;
export const MAX_DEPTH = 32;
const MAX_LITERAL_CHARACTERS = 32_768;
const MAX_NAME_CHARACTERS = 256;
const MAX_ALTERNATIVES = 256;
const MAX_PROPERTIES = 256;
const MAX_OPTIONAL = 64;
const MAX_REPEATS = 1000;
const MAX_PATTERN_CHARACTERS = 256;

/** Lengths and counts: grammars have a rule for each repetition. */
const REPEATS = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

/** Every element is tried for each token. */
const LISTS = ['enum', 'anyOf', 'oneOf', 'allOf', 'prefixItems', 'type'];

export class SchemaBudget {
  #nodes = 0;
  #literals = 0;

  /** One schema, as often as references lead to it. @throws ServiceError 400 that names the place */
  add(schema: Schema, at: string): void {
    this.#nodes++;
    if (this.#nodes > MAX_NODES) {
      const rule = `is more than the ${MAX_NODES} schemas that a request may have, references followed`;
      throw invalidSchema(at, rule);
    }
    for (const key of LISTS) {
      const list = schema[key];
      if (Array.isArray(list)) requireAtMost(MAX_ALTERNATIVES, list.length, 'elements', `${at}.${key}`);
    }
    checkProperties(schema, at);
    this.#addLiterals(schema, at);
    for (const [low, high] of REPEATS) {
      checkRepeats(schema, low, at);
      checkRepeats(schema, high, at);
      checkOrder(schema, low, high, at);
    }
    checkOrder(schema, 'minimum', 'maximum', at);
    checkPattern(schema, at);
  }

  #addLiterals({ enum: values, const: constant, properties }: Schema, at: string): void {
    if (values === undefined && constant === undefined && properties === undefined) return;
    const names = isObject(properties) ? Object.keys(properties) : [];
    const long = names.find((name) => name.length > MAX_NAME_CHARACTERS);
    if (long !== undefined) {
      const rule = `may have names of ${MAX_NAME_CHARACTERS} characters, and ${describe(long)} is longer`;
      throw invalidSchema(`${at}.properties`, rule);
    }
    this.#literals += JSON.stringify([values, constant, names]).length;
    if (this.#literals <= MAX_LITERAL_CHARACTERS) return;
    const rule = `is too large: a request may have ${MAX_LITERAL_CHARACTERS} characters of property names, enum and const values`;
    throw invalidSchema(at, rule);
  }
}

/** Each optional property may be followed by each one after it. */
function checkProperties({ properties, required }: Schema, at: string): void {
  if (!isObject(properties)) return;
  const names = Object.keys(properties);
  const param = `${at}.properties`;
  requireAtMost(MAX_PROPERTIES, names.length, 'members', param);
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const optional = names.filter((name) => !needed.has(name)).length;
  requireAtMost(MAX_OPTIONAL, optional, 'optional members', param, ': name more of them in `required`');
}

function checkRepeats(schema: Schema, key: string, at: string): void {
  const value = schema[key];
  if (value === undefined) return;
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_REPEATS) return;
  throw wrongValue(`${at}.${key}`, `must be an integer from 0 to ${MAX_REPEATS}`, value);
}

/** No text would match, and the engine would generate until the context is full. */
function checkOrder(schema: Schema, low: string, high: string, at: string): void {
  const [least, most] = [schema[low], schema[high]];
  if (typeof least !== 'number' || typeof most !== 'number' || least <= most) return;
  throw wrongValue(`${at}.${low}`, `must be at most \`${high}\` (${most})`, least);
}

function checkPattern({ pattern }: Schema, at: string): void {
  if (pattern === undefined) return;
  const param = `${at}.pattern`;
  if (typeof pattern !== 'string') throw wrongValue(param, 'must be a string', pattern);
  requireAtMost(MAX_PATTERN_CHARACTERS, pattern.length, 'characters', param);
  // Repetitions within each other multiply.
  const counts = [...pattern.matchAll(/\{(\d*)(?:,(\d*))?\}/g)].map(([, least, most]) =>
    Number(most || least || 1),
  );
  if (counts.reduce((product, count) => product * Math.max(1, count), 1) <= MAX_REPEATS) return;
  throw invalidSchema(param, `must repeat at most ${MAX_REPEATS} times, its repetitions multiplied`);
}

export const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function requireAtMost(maximum: number, count: number, noun: string, at: string, hint = ''): void {
  if (count > maximum)
    throw invalidSchema(at, `must have at most ${maximum} ${noun}, but has ${count}${hint}`);
}

export const wrongValue = (at: string, rule: string, given: unknown): ServiceError =>
  invalidSchema(at, `${rule}, but ${describe(given)} was given`);

export const invalidSchema = (at: string, rule: string): ServiceError =>
  invalidField(shortened(at, 300), rule, 'invalid_json_schema');
