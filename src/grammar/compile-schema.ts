import { invalidField, readJson, type ServiceError } from '#base';
import type { SchemaPart } from '#jobs';
import type { SchemaObject } from './forms.ts';
import { JsonGrammar } from './json-grammar.ts';
import { Languages, TooCostlyError } from './language.ts';
import { LOOSENESS, SchemaContext, WHOLE } from './schema-context.ts';
import { SchemaForms } from './schema-forms.ts';
import { withPointers } from './schema-references.ts';

export interface CompiledSchema {
  gbnf: string;
  /** Keywords that the grammar does not enforce, by their place in the request. */
  loosened: string[];
}

interface CompileOptions {
  /** Whether a keyword that cannot be enforced is an error. */
  strict?: boolean;
  /** Path of the schema in the request, for error messages. */
  param?: string;
  /** Schemas of a request within the schema. Default: the schema is one. */
  parts?: readonly SchemaPart[];
}

/** The last schema's grammar. A request's choices have one schema, and so has a reply that continues. */
let last: { key: string; compiled: CompiledSchema } | undefined;

/**
 * Compiles a JSON Schema, given as JSON text, to a grammar. Keywords that cannot be enforced, or would cost too much, are refused
 * in `strict` parts and left out of the others.
 * @throws ServiceError 400
 */
export function compileSchema(schemaText: string, options: CompileOptions = {}): CompiledSchema {
  const key = JSON.stringify([schemaText, options]);
  if (last?.key !== key) last = { key, compiled: compile(schemaText, options) };
  return last.compiled;
}

function compile(
  schemaText: string,
  { strict = true, param = WHOLE.param, parts = [{ at: [], param, strict }] }: CompileOptions,
): CompiledSchema {
  const original = readJson(schemaText) as SchemaObject;
  const schema = parts.reduce((root, { at }) => withPointersAt(root, at, ''), original);
  const whole = (parts.find((part) => part.strict) ?? parts[0] ?? WHOLE).param;
  for (const looseness of LOOSENESS) {
    const context = new SchemaContext(schema, parts, looseness);
    try {
      const grammar = new JsonGrammar(new SchemaForms(new Languages(), context), context);
      const gbnf = grammar.print(schema);
      const impossible = grammar.impossible(schema);
      if (gbnf !== null && impossible.length === 0) return { gbnf, loosened: [...context.loosenedPlaces] };
      const place = context.lastPlace(impossible) ?? whole;
      throw unenforceable(place, 'no value fits its keywords. Correct them');
    } catch (cause) {
      // A pattern may be nested too deeply for the stack.
      if (!(cause instanceof TooCostlyError || cause instanceof RangeError)) throw cause;
    }
  }
  throw unenforceable(whole, 'its grammar would be too large. Simplify the schema');
}

const unenforceable = (param: string, why: string): ServiceError =>
  invalidField(param, `cannot be enforced: ${why}`, 'invalid_json_schema');

function withPointersAt(
  schema: SchemaObject,
  [key, ...rest]: readonly string[],
  pointer: string,
): SchemaObject {
  if (key === undefined) return withPointers(schema, pointer);
  const inner = schema[key];
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return schema;
  return { ...schema, [key]: withPointersAt(inner as SchemaObject, rest, `${pointer}/${key}`) };
}
