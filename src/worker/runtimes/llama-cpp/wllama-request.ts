import type { VariantSampling } from '../../../catalog/catalog.ts';
import { type Constraint, engineFields, type EngineSampling, type Sampling } from '../../../protocol/job.ts';
import type { Completion } from '../../prompt/think-first.ts';

/** A completion as llama.cpp's server takes it, in its own names. */
export function completionRequest(
  { prompt, maxTokens, constraint, topLogprobs }: Completion,
  sampling: Sampling,
  own: VariantSampling,
): Record<string, unknown> {
  return {
    stream: true,
    prompt,
    ...samplers(sampling, own, maxTokens),
    ...(constraint && constrain(constraint)),
    ...(maxTokens !== undefined && { n_predict: maxTokens }),
    // It takes 0 for none at all; the one too many is cut when the chunk is read.
    ...(topLogprobs !== undefined && { n_probs: Math.max(1, topLogprobs) }),
    cache_prompt: true,
    timings_per_token: true,
  };
}

/**
 * Most tokens back that the penalties count. OpenAI counts the reply alone, llama.cpp the prompt's end, too: a window no
 * longer than the reply may get keeps most of the prompt out of it.
 */
const PENALTY_WINDOW = 512;

/** OpenAI's parameters and the variant's own: everything else that llama.cpp does by default is turned off. */
function samplers(
  sampling: Sampling,
  { topK = 0, minP = 0, repeatPenalty = 1 }: VariantSampling,
  maxTokens: number = PENALTY_WINDOW,
): Record<string, unknown> {
  return {
    // What the model holds improbable is dropped before the temperature flattens its distribution.
    samplers: ['penalties', 'top_k', 'min_p', 'temperature', 'top_p'],
    top_k: topK,
    min_p: minP,
    repeat_penalty: repeatPenalty,
    repeat_last_n: Math.min(PENALTY_WINDOW, maxTokens),
    ...engineFields(sampling, FIELDS),
  };
}

const FIELDS: EngineSampling = {
  temperature: (temperature) => ({ temperature }),
  topP: (topP) => ({ top_p: topP }),
  minP: (minP) => ({ min_p: minP }),
  seed: (seed) => ({ seed: seed32(seed) }),
  presencePenalty: (penalty) => ({ presence_penalty: penalty }),
  frequencyPenalty: (penalty) => ({ frequency_penalty: penalty }),
  logitBias: (biases) => ({
    logit_bias: Object.entries(biases).map(([token, bias]) => [Number(token), bias]),
  }),
};

/** How many there are: llama.cpp's are 32 bits wide, of which the highest means a random one. */
const SEEDS = 0xffffffff;

/** OpenAI's seeds are 64 bits wide. */
function seed32(seed: number): number {
  return ((seed % SEEDS) + SEEDS) % SEEDS;
}

function constrain(constraint: Constraint): Record<string, unknown> {
  switch (constraint.kind) {
    case 'json_object':
      return { json_schema: { type: 'object' } };
    case 'json_schema':
      return { json_schema: constraint.schema };
    case 'grammar':
      return { grammar: constraint.gbnf };
  }
}
