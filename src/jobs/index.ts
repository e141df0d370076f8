export type { Timings } from './any-job.ts';
export {
  CHARACTERS_A_TOKEN,
  charactersOf,
  estimateTokens,
  imagesOf,
  repeats,
  textsOf,
  type Accepted,
  type ChatEvent,
  type ChatImage,
  type ChatJob,
  type ChatMessage,
  type ChatTimings,
  type ChatUsage,
  type Constraint,
  type Delta,
  type EngineFinishReason,
  type Reasoning,
  type SchemaPart,
  type TokenLogprob,
  type ToolCall,
} from './chat.ts';
export {
  charactersOf as decisionCharactersOf,
  type DecisionOption,
  type DecisionAnswer,
  type DecisionEvent,
  type DecisionJob,
  type DecisionProgress,
  type DecisionQuestion,
} from './decision.ts';
export { cosine, type EmbeddingEvent, type EmbeddingJob, type EmbeddingResult } from './embedding.ts';
export {
  KINDS,
  answers,
  completeTimings,
  fingerprintOf,
  withJobLimits,
  type EventOf,
  type Events,
  type Job,
  type JobEvent,
  type JobOf,
  type Kind,
  type ModelKind,
  type ModelOf,
} from './kinds.ts';
export { similarities, type RerankEvent, type RerankJob } from './rerank.ts';
export {
  SPEECH_FORMATS,
  SPEECH_TOKENS_A_SECOND,
  type SpeechEvent,
  type SpeechFormat,
  type SpeechJob,
} from './speech.ts';
export { SAMPLING, engineFields, foldSeed, type Sampling, type SamplingName } from './sampling.ts';
export {
  SAMPLING_MODES,
  samplingModeOf,
  type DraftSamplingMode,
  type SamplingMode,
} from './sampling-modes.ts';
export type { ToolChoiceEvent, ToolChoiceJob, ToolOption } from './tool-choice.ts';
export { SOUND_TOKENS_A_SECOND } from './transcription.ts';
export type {
  Cue,
  Granularity,
  TimedWord,
  Transcript,
  TranscriptionEvent,
  TranscriptionJob,
  TranscriptionProgress,
  TranscriptionSegment,
} from './transcription.ts';
