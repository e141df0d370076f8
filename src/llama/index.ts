export type { Chunk, LlamaTimings, RawLogprob } from './chunk.ts';
export { isCrowded, RequestRejectedError, ServerMemoryError } from './internals/server-calls.ts';
export type { StateLimits } from './internals/worker-proxy.ts';
export {
  NotLoaded,
  openLlama,
  startAhead,
  type Llama,
  type LlamaOptions,
  type WasmBuild,
} from './open-llama.ts';
export type { PromptImages } from './reply-scheduler.ts';
