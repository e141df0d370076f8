import { isReady, loadFor } from '../client/downloads.ts';
import { openai } from '../client/openai.ts';

/** POST /v1/decisions: the types that the installed client lacks. */
export interface Question {
  type: 'predicate' | 'choice' | 'score';
  instructions: string;
  choices?: { value: string; description?: string }[];
  levels?: { label: string; description?: string }[];
}

export interface Answer {
  type: Question['type'] | 'refusal';
  /** Probability that a predicate is true. */
  probability?: number;
  /** The mean level, counted from 0. */
  score?: number;
  probabilities?: { probability: number; value: string | number; label?: string }[];
}

interface Decision {
  answers: Answer[];
  usage: { input_tokens: number };
}

export interface Decided {
  questions: Question[];
  answers: Answer[];
  tokens: number;
  /** Null: the time had a load in it. */
  ms: number | null;
}

export async function decide(
  model: string,
  input: string,
  questions: Question[],
  controller: AbortController,
): Promise<Decided> {
  const { signal } = controller;
  const wasReady = isReady(model);
  void loadFor(model, () => controller.abort());
  const client = await openai();
  const startedAt = performance.now();
  const body = { model, input, questions };
  const { answers, usage } = await client.post<Decision>('/decisions', { body, signal });
  return {
    questions,
    answers,
    tokens: usage.input_tokens,
    ms: wasReady ? performance.now() - startedAt : null,
  };
}
