export type { Chunk, LlamaTimings, RawLogprob } from './chunk.ts';
export { isCrowded, RequestRejectedError, ServerMemoryError } from './internals/server-calls.ts';
export type { StateLimits, WasmBuild } from './internals/worker-proxy.ts';
export { NotLoaded, openLlama, startAhead, type Llama, type LlamaOptions } from './open-llama.ts';
export type { PromptImages } from './reply-scheduler.ts';
