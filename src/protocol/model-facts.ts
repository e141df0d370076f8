import type { Kind, KINDS } from '../jobs/kinds.ts';

/** What a model is, in the fields of GET /v1/models: docs/compatibility.md. What is not known is absent. */
export interface ModelFacts {
  /** Tokens of prompt and reply together. */
  context_length?: number;
  max_output_tokens?: number;
  /** What it can do for certain. */
  capabilities: Capability[];
  /** Exact size of its weights. */
  size_bytes?: number;
  /** Whether it is in the memory of this device. */
  loaded?: boolean;
}

export type Capability =
  | (typeof KINDS)[Kind]['capability']
  | 'completions'
  | 'tools'
  | 'json_schema'
  | 'logprobs'
  | 'reasoning'
  | 'vision'
  | 'audio';

/** What an engine writes down, so that a service worker knows it without asking. */
export interface EngineFacts {
  /** Id of the engine. `loaded` is true only while it lives. */
  epoch: string;
  /** Facts by the model's id. */
  models: Record<string, ModelFacts>;
}
