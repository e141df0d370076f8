/** Rules of all engines, by the `engine` of their variants: the name of their folder. They load in every environment. */

export * as wllama from './wllama/rules.ts';
export * as transformers from './transformers/rules.ts';
export * as whisper from './whisper/rules.ts';
export * as voice from './voice/rules.ts';
export * as 'web-llm' from './web-llm/rules.ts';
export * as 'built-in' from './built-in/rules.ts';
export * as upstream from './upstream/rules.ts';
