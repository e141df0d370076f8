import { ServiceError, toWireError, type WireError } from '#base';
import type { SchemaPart } from '#jobs';
import { compileSchema, type CompiledSchema } from './compile-schema.ts';
import { continueGrammar } from './continue-grammar.ts';

/** Errors are values, as thrown errors lose their fields between workers. */
export type Compiled = { compiled: CompiledSchema; error: null } | { compiled: null; error: WireError };

/** Compiles schemas in a worker that can be terminated. */
export const grammarWorker = {
  /** @param begun the beginning of the reply; undefined: the grammar is for all of it */
  async compile(schema: string, parts?: readonly SchemaPart[], begun?: string): Promise<Compiled> {
    try {
      const { gbnf, loosened } = compileSchema(schema, parts && { parts });
      const rest = begun === undefined ? gbnf : continueGrammar(gbnf, begun);
      return { compiled: { gbnf: rest, loosened }, error: null };
    } catch (error) {
      if (!(error instanceof ServiceError)) console.error('localtext: a schema was not compiled', error);
      return { compiled: null, error: toWireError(error) };
    }
  },
};
