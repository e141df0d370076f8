import type { Kind, KINDS } from '#jobs';

/** Facts about a model, in the fields of GET /v1/models: docs/compatibility.md. Unknown ones are absent. */
export interface ModelFacts {
  /** Tokens of prompt and reply together. */
  context_length?: number;
  max_output_tokens?: number;
  /** Capabilities that are certain. */
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
  | 'vision';

/** Facts that an engine writes down, so that a service worker knows them without asking. */
export interface StoredFacts {
  /** Id of the engine. `loaded` is true only while it runs. */
  epoch: string;
  /** Facts by the model's id. */
  models: Record<string, ModelFacts>;
}
