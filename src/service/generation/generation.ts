import { conflicting, omitNulls, writeJson } from '#base';
import { OPENAI_DEFAULTS } from '../model-list/models.ts';
import type * as z from 'zod/mini';
import {
  SAMPLING,
  type ChatJob,
  type Constraint,
  type Reasoning,
  type Sampling,
  type SamplingName,
} from '#jobs';
import { callConstraint } from '../tools/call-constraint.ts';
import { withToolPrompt } from '../tools/tool-prompt.ts';
import type { CallableTools } from '../tools/callable-tools.ts';
import type { flatFormat, nestedFormat, streamFields } from '../body/fields.ts';
import { checkJsonSchema } from '#grammar/check';
import type { ModelEntry } from '#protocol';

/** A generation request in the form that all endpoints share. */
export interface Generation {
  /** Model's id as the client gave it; the answer repeats it. */
  model: string;
  /** One, or several prompts of one request, without the prompt for `tools`. */
  inputs: ChatJob['input'][];
  /** Number of choices for each input. */
  choices: number;
  /** Sampling parameters of the request. Absent ones take the model's defaults, then OpenAI's. */
  sampling: Partial<Sampling>;
  maxTokens: number | null;
  constraint: Constraint | null;
  /** Alternatives for each token; null: no log probabilities. */
  topLogprobs: number | null;
  stop: string[];
  tools: CallableTools | null;
  /** Reasoning options; null if the request has none. */
  reasoning: Reasoning | null;
  /** Whether a conversation that does not fit loses its oldest turns. */
  truncate?: boolean;
  /** Beginning of the reply, which the client already has. The answer continues it. */
  partial?: string;
  /** The endpoint's names of the fields that engines refuse. */
  params: { messages: string; responseFormat: string };
}

/** Number of choices of all inputs. Choices are numbered from the first input to the last. */
export const choiceCount = ({ inputs, choices }: Generation): number => inputs.length * choices;

export const inputOf = ({ choices }: Generation, index: number): number => Math.floor(index / choices);

/** One input, with the description of the tools. */
export function promptOf({ inputs, tools }: Generation, at: number): ChatJob['input'] {
  const input = inputs[at] ?? { messages: [] };
  return tools ? withToolPrompt(input, tools) : input;
}

/**
 * Creates the job of one choice. With a seed, choices differ from each other, and the first is the same as
 * without `n`.
 */
export function toChatJob(generation: Generation, model: ModelEntry, index: number): ChatJob {
  const { choices, maxTokens, topLogprobs, reasoning } = generation;
  const sampling = usedSampling(generation, model);
  const seed = sampling.seed === undefined ? {} : { seed: exact(sampling.seed) + (index % choices) };
  return {
    kind: 'chat',
    model: model.id,
    input: promptOf(generation, inputOf(generation, index)),
    sampling: { ...sampling, ...seed },
    ...(generation.truncate && { truncate: true }),
    ...(generation.partial && { resume: { text: generation.partial, tokens: 0 } }),
    // Nothing to generate: the prompt is counted for `usage`.
    ...(maxTokens === 0 && { countOnly: true }),
    ...omitNulls({ maxTokens, constraint: toConstraint(generation), topLogprobs, reasoning }),
  };
}

/** Sampling parameters of the request; the model's defaults, then OpenAI's, fill in the rest. */
export const usedSampling = ({ sampling }: Generation, { defaults }: ModelEntry): Sampling => ({
  ...OPENAI_DEFAULTS,
  ...defaults,
  ...sampling,
});

/** A seed that stays exact when an index is added. */
const exact = (seed: number): number => (Number.isSafeInteger(seed) ? seed : seed % 2 ** 32);

function toConstraint({ tools, constraint, partial }: Generation): Constraint | null {
  if (tools === null || (constraint && partial)) return constraint;
  if (tools.mustCall) return callConstraint(tools);
  return constraint === null ? null : callConstraint(tools, constraint);
}

/** Fields that several endpoints share, as parts of a job. */

/** Selects the sampling parameters of a request. The model's defaults fill in the rest. */
export const toSampling = (request: { [Name in SamplingName]?: unknown }): Partial<Sampling> =>
  omitNulls(
    Object.fromEntries(Object.entries(SAMPLING).map(([parameter, { name }]) => [parameter, request[name]])),
  );

type NestedSchema = Extract<z.infer<typeof nestedFormat>, { type: 'json_schema' }>['json_schema'];
type JsonFormat = z.infer<typeof flatFormat> | ({ type: 'json_schema' } & NestedSchema);

/** Converts a response format. `at`: place of the schema in the request. @throws ServiceError 400 */
export function toJsonConstraint(
  format: JsonFormat,
  at = '',
  enforced: 'keywords' | false = false,
): Constraint | null {
  if (format == null || format.type === 'text') return null;
  const isObject = format.type === 'json_object';
  const schema = format.schema ?? (isObject ? format.value : null);
  if (schema == null) return { kind: 'json_object' };
  const strict = !isObject && (format.strict ?? false);
  const param = format.schema == null ? at.replace(/schema$/, 'value') : at;
  checkJsonSchema(schema, param, strict);
  const parts = [{ at: [], param, strict: strict || enforced }];
  return { kind: 'json_schema', schema: writeJson(schema), parts };
}

/** @throws ServiceError 400 */
export function toIncludeUsage({
  stream,
  stream_options: options,
}: z.infer<z.ZodMiniObject<typeof streamFields>>): boolean {
  if (options != null && !stream)
    throw conflicting('stream_options', 'needs `stream`: set `stream` to true, or leave it out');
  return options?.include_usage ?? false;
}
