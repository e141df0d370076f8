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
  type: 'predicate' | 'choice' | 'score';
  instructions: string;
  /** Choices or levels. A predicate has none. */
  options: DecisionOption[];
}

export interface DecisionOption {
  label: string;
  description?: string;
}

/** Number of characters of the input and of all questions. */
export function decisionCharactersOf({ input, questions }: Pick<DecisionJob, 'input' | 'questions'>): number {
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

/** Events of a decision, in this order: `delta` any number of times, `done` once. */
export type DecisionEvent =
  /** Answers so far. */
  | { type: 'delta'; progress: DecisionProgress }
  | { type: 'done'; progress: DecisionProgress; fingerprint: string; timings?: Timings };
