export * from './added-models.ts';
export * from './catalog.ts';
export { DEFAULT_CATALOG_HASH } from './default-catalog-hash.ts';
export { defaultModels } from './default-models.ts';
export * from './device-memory.ts';
export { builtIn as builtInRules } from './engines/built-in.ts';
export { DEFAULT_SAMPLING } from './engines/default-sampling.ts';
export { prefix, type EmbeddingTraining, type EngineRules, type KvWindow } from './engines/engine-rules.ts';
export { rulesOf } from './engines/index.ts';
export {
  COPIED_SHARE,
  isEncoder,
  SLOTS,
  llamaCpp as llamaCppRules,
  promptStates,
} from './engines/llama-cpp.ts';
export { transformers as transformersRules } from './engines/transformers.ts';
export { CHAT_CONFIG, folderOf, libraryPath, webLlm as webLlmRules } from './engines/web-llm.ts';
export { voice as voiceRules } from './engines/voice.ts';
export { whisper as whisperRules } from './engines/whisper.ts';
export { hubModels } from './hub-models.ts';
export * from './memory-estimate.ts';
export * from './unmet-need.ts';
export { speech } from './speech-models.ts';
export { voices } from './speech-models.ts';
export { vision } from './speech-models.ts';
export * from './weight-path.ts';
export * from './with-built-in.ts';
