import type { Exchange } from '../http/exchange.ts';
import { answerWhole } from '../http/answer.ts';
import { imagesOf } from '#jobs';
import { estimatePrompts } from './admission.ts';
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
export const answerInputTokens = (exchange: Exchange, generation: Generation): Promise<Response> =>
  answerWhole(
    exchange,
    {
      model: generation.model,
      kind: 'chat',
      images: generation.inputs.flatMap(imagesOf),
      reserved: costOf(generation, estimatePrompts(generation)),
    },
    (model) => ({ ...toChatJob(generation, model, 0), countOnly: true }),
    (event, meter) => {
      if (event.type !== 'accepted') return null;
      const { promptTokens } = event.accepted;
      meter.count(costOf(generation, promptTokens), { promptTokens });
      return { object: 'response.input_tokens', input_tokens: promptTokens };
    },
    (error) => renamed(error, generation),
  );
