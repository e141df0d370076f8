import type { Schema, SchemaObject } from './forms.ts';
import { TooCostlyError } from './language.ts';
import { UnknownPatternError } from './pattern.ts';

/** The request's schemas, and the policy for keywords that cannot be enforced. */
export interface SchemaContext {
  /** Schema at a reference; undefined: there is no such place. */
  target(reference: string): Schema | undefined;
  /** The schema without the keywords that are not enforced in it. */
  loosened(schema: SchemaObject): SchemaObject;
  /** Handles a keyword that cannot be enforced. Throws if it must be enforced. */
  unenforceable(schema: SchemaObject, keyword: string, rule: string): void;
}

/** Runs `make`; null if the keyword that it reads cannot be enforced and need not be. */
export function attempt<Made>(
  context: SchemaContext,
  schema: SchemaObject,
  keyword: string,
  make: () => Made,
): Made | null {
  try {
    return make();
  } catch (error) {
    const rule = ruleOf(error);
    if (rule === undefined) throw error;
    context.unenforceable(schema, keyword, rule);
    return null;
  }
}

function ruleOf(error: unknown): string | undefined {
  if (error instanceof TooCostlyError) return 'is too costly to enforce';
  if (error instanceof UnknownPatternError) return error.message;
  return error instanceof SyntaxError ? 'cannot be read' : undefined;
}
