import type { Exchange } from '../http/exchange.ts';
import { respond } from '../http/answer.ts';
import { JobMeter, JobRun } from '../http/job-run.ts';
import { JSON_TYPE } from '../http/response.ts';
import { imagesOf, type ChatEvent } from '#jobs';
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
export async function answerInputTokens(exchange: Exchange, generation: Generation): Promise<Response> {
  const reserved = costOf(generation, estimatePrompts(generation));
  const meter = new JobMeter(reserved);
  const run = await JobRun.admit(exchange, {
    model: generation.model,
    kind: 'chat',
    images: generation.inputs.flatMap(imagesOf),
    meter,
    isStreamed: false,
    reserved,
  });
  const job = { ...toChatJob(generation, run.model, 0), countOnly: true as const };
  let tokens = 0;
  const format = {
    type: JSON_TYPE,
    event(event: ChatEvent) {
      if (event.type !== 'accepted') return '';
      tokens = event.accepted.promptTokens;
      meter.count(costOf(generation, tokens), { promptTokens: tokens });
      return '';
    },
    end: () => JSON.stringify({ object: 'response.input_tokens', input_tokens: tokens }),
  };
  return respond(run, format, async (sink) => {
    const stage = sink.stage.bind(sink);
    const event = (first: ChatEvent): Promise<true> => sink.event(first).then(() => true);
    await run.run(job, { stage, event }).catch((error: unknown) => {
      throw renamed(error, generation);
    });
  });
}
