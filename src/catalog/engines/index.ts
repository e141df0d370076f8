import { builtIn, type BuiltInVariant } from './built-in.ts';
import type { EngineRules } from './engine-rules.ts';
import { llamaCpp, type WllamaVariant } from './llama-cpp.ts';
import { transformers, type TransformersVariant } from './transformers.ts';
import { upstream, type UpstreamVariant } from './upstream.ts';
import { voice, type VoiceVariant } from './voice.ts';
import { webLlm, type WebLlmVariant } from './web-llm.ts';
import { whisper, type WhisperVariant } from './whisper.ts';

export type Variant =
  | WllamaVariant
  | TransformersVariant
  | WhisperVariant
  | VoiceVariant
  | WebLlmVariant
  | BuiltInVariant
  | UpstreamVariant;

/** Rules of all engines that a catalog may name. */
export const ENGINE_RULES: { [E in Variant['engine']]: EngineRules<Extract<Variant, { engine: E }>> } = {
  wllama: llamaCpp,
  transformers,
  whisper,
  voice,
  'web-llm': webLlm,
  'built-in': builtIn,
  upstream,
};

/** Rules of a variant's engine; undefined for an engine of another package. */
export const rulesOf = ({ engine }: { engine: string }): EngineRules | undefined =>
  (ENGINE_RULES as Readonly<Record<string, EngineRules>>)[engine];
