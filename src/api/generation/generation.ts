import type { ChatJob, Constraint, Reasoning, Sampling } from '../../protocol/job.ts';
import { given, OPENAI_DEFAULTS } from '../body/request-fields.ts';
import { callConstraint } from '../tools/call-schema.ts';
import type { ToolUse } from '../tools/tool-use.ts';

/** What to generate, for every endpoint alike. */
export interface Generation {
  /** As the client gave it; the answer repeats it. */
  model: string;
  /** One, or several prompts of one request. */
  inputs: ChatJob['input'][];
  /** For each input. */
  choices: number;
  /** What the request names; the rest is the model's defaults, then OpenAI's. */
  sampling: Partial<Sampling>;
  maxTokens: number | null;
  constraint: Constraint | null;
  /** Alternatives for each token; null: no log probabilities. */
  topLogprobs: number | null;
  stop: string[];
  tools: ToolUse | null;
  /** Null: the request says nothing of it. */
  reasoning: Reasoning | null;
  /** The endpoint's names of the fields that engines refuse. */
  params: { messages: string; responseFormat: string };
}

/** Choices of all inputs. They are numbered from those of the first input to those of the last. */
export const choiceCount = ({ inputs, choices }: Generation): number => inputs.length * choices;

export const inputOf = ({ choices }: Generation, index: number): number => Math.floor(index / choices);

/** The job of one choice. Choices of a seeded request differ from each other, and the first is as without `n`. */
export function toChatJob(generation: Generation, model: string, index: number): ChatJob {
  const { inputs, choices, sampling, maxTokens, topLogprobs, reasoning } = generation;
  const seed = sampling.seed === undefined ? {} : { seed: sampling.seed + (index % choices) };
  return {
    kind: 'chat',
    model,
    input: inputs[inputOf(generation, index)] ?? { messages: [] },
    sampling: { ...OPENAI_DEFAULTS, ...sampling, ...seed },
    ...given({ maxTokens, constraint: toConstraint(generation), topLogprobs, reasoning }),
  };
}

function toConstraint({ tools, constraint }: Generation): Constraint | null {
  if (tools === null) return constraint;
  if (tools.mustCall) return callConstraint(tools);
  return constraint === null ? null : callConstraint(tools, constraint);
}
