/** Rules of all engines. They load in every environment. */

export * as wllama from './wllama/rules.ts';
export * as transformers from './transformers/rules.ts';
export * as whisper from './whisper/rules.ts';
export * as voice from './voice/rules.ts';
export * as webLlm from './web-llm/rules.ts';
export * as builtIn from './built-in/rules.ts';
export * as upstream from './upstream/rules.ts';
