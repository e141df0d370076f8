import type { AnyJob, Timings } from './any-job.ts';
import type { ChatImage } from './chat.ts';

/** Typed questions about one input, answered with probabilities. Nothing is generated. */
export interface DecisionJob extends AnyJob {
  kind: 'decision';
  input: { text: string; images?: ChatImage[] };
  questions: DecisionQuestion[];
  /** The client's request, for servers. It is not sent to the engine worker. */
  request?: Record<string, unknown>;
  /** Resume point left by an engine that is gone. */
  progress?: DecisionProgress;
}

export interface DecisionQuestion {
  /**
   * `tool`: which tool a chat's last message needs, if any. The job's model is the chat's, and its variant names the
   * model that answers. The answer has one probability more than the options, for no tool; it is null if the variant
   * names none.
   */
  type: 'predicate' | 'choice' | 'score' | 'tool';
  /** For a tool: the user's message before the input, or an empty string. */
  instructions: string;
  /** Choices, levels or tools. A predicate has none. */
  options: DecisionOption[];
}

export interface DecisionOption {
  label: string;
  description?: string;
}

/** Number of characters of the input and of all questions. */
export function charactersOf({ input, questions }: Pick<DecisionJob, 'input' | 'questions'>): number {
  const texts = questions.flatMap(({ instructions, options }) => [
    instructions,
    ...options.flatMap(({ label, description = '' }) => [label, description]),
  ]);
  return texts.reduce((sum, { length }) => sum + length, input.text.length);
}

/** Probabilities of a question's options, in order; for a predicate, the probability of true. Null if the model refused. */
export type DecisionAnswer = number[] | null;

export interface DecisionProgress {
  /** Answers of the first questions. */
  answers: DecisionAnswer[];
  /** Tokens of the input, counted once, and of the answered questions. */
  promptTokens: number;
  /** Tokens of the first prompt found in the KV cache. */
  cachedTokens: number;
  /** Tokens computed for the options: steps that score them, and questions without the input. Charged, but not usage. */
  labelTokens: number;
}

/** Progress of a choice of a tool that nobody made: the chat's model chooses. */
export const UNDECIDED: DecisionProgress = {
  answers: [null],
  promptTokens: 0,
  cachedTokens: 0,
  labelTokens: 0,
};

/** Whether the job chooses a tool for a chat. */
export const choosesTool = ({ questions }: AnyJob & { questions?: readonly DecisionQuestion[] }): boolean =>
  questions?.[0]?.type === 'tool';

/** Events of a decision, in this order: `delta` any number of times, `done` once. */
export type DecisionEvent =
  /** Answers so far. */
  | { type: 'delta'; progress: DecisionProgress }
  | {
      type: 'done';
      progress: DecisionProgress;
      fingerprint: string;
      timings?: Timings;
    };
