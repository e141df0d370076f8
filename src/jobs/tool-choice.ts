import type { AnyJob, Timings } from './any-job.ts';

/**
 * Chooses the tool that a chat's last message needs, if any. The job's model is the chat's. Its variant names the
 * embedding model that runs the job (`toolChooser`).
 */
export interface ToolChoiceJob extends AnyJob {
  kind: 'toolChoice';
  /** The user's last message; empty: none since the last result of a tool. */
  message: string;
  /** The user's message before it, or an empty string. */
  before: string;
  tools: ToolOption[];
}

export interface ToolOption {
  name: string;
  description?: string;
}

/** Event of a choice, which returns all scores at once. */
export interface ToolChoiceEvent {
  type: 'done';
  /** Scores of the tools, in order, then that of no tool: the highest one is the choice. Null: the chat's model chooses. */
  scores: number[] | null;
  promptTokens: number;
  fingerprint: string;
  timings?: Timings;
}
