export { compileSchema } from './compile-schema.ts';
export { continueGrammar } from './continue-grammar.ts';
