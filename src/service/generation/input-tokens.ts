import type { Call } from '../http/call.ts';
import { answerHeaders, answerJson, JSON_TYPE } from '../http/response.ts';
import { imagesOf } from '#jobs';
import { engineLost } from '#base';
import { admitGeneration, estimatePrompts, type GenerationRun } from './admission.ts';
import { renamed } from './generate.ts';
import { toChatJob, type Generation } from './generation.ts';

/**
 * Share of a prompt's tokens that a count takes from the key's limit: it only renders and tokenizes the
 * prompt.
 */
const TEXT_SHARE = 0.25;
const MIN_TOKENS = 50;

/** Tokens that a count costs. Images cost as much as for a reply, because they are computed. */
function costOf({ inputs }: Generation, tokens: number): number {
  const hasImages = inputs.some((input) => imagesOf(input).length > 0);
  return Math.max(MIN_TOKENS, Math.ceil(tokens * (hasImages ? 1 : TEXT_SHARE)));
}

/** Answers every path that counts a prompt, with the number that `usage` would have. */
export async function answerInputTokens(call: Call, generation: Generation): Promise<Response> {
  const estimate = estimatePrompts(generation);
  const run = await admitGeneration(call, generation, costOf(generation, estimate));
  const count = async (): Promise<string> => {
    // A failed count costs the estimate: it has taken as much time.
    let tokens = estimate;
    try {
      tokens = await countInputTokens(run);
    } finally {
      await run.settle(costOf(generation, tokens));
    }
    return JSON.stringify({ object: 'response.input_tokens', input_tokens: tokens });
  };
  return answerJson(call, count(), {
    isComputing: () => false,
    headers: () => answerHeaders(call, JSON_TYPE),
  });
}

/** Counts the tokens with the engine that would answer. @throws ServiceError */
async function countInputTokens({ call, generation, model }: GenerationRun): Promise<number> {
  const { engine } = call.dependencies;
  const job = { ...toChatJob(generation, model.id, 0), countOnly: true as const };
  try {
    for await (const event of engine.run(job, { id: call.id, signal: call.abort.signal, model }))
      if (event.type === 'accepted') return event.accepted.promptTokens;
  } catch (error) {
    throw renamed(error, generation);
  }
  throw engineLost();
}
