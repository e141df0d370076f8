import type { Call } from '../http/call.ts';
import { answerHeaders, answerJson, JSON_TYPE } from '../http/response.ts';
import { serverError } from '../../errors/service-error.ts';
import { admitGeneration, type GenerationRun } from './admission.ts';
import { renamed } from './generate.ts';
import { toChatJob, type Generation } from './generation.ts';

/** The answer of every path that counts a prompt: the figure that `usage` would have. */
export async function answerInputTokens(call: Call, generation: Generation): Promise<Response> {
  const run = await admitGeneration(call, generation);
  const count = async (): Promise<string> => {
    const tokens = await countInputTokens(run).finally(run.settle);
    return JSON.stringify({ object: 'response.input_tokens', input_tokens: tokens });
  };
  return answerJson(call, count(), {
    isComputing: () => false,
    headers: () => answerHeaders(call, JSON_TYPE),
  });
}

/** By the engine that would answer. @throws ServiceError */
async function countInputTokens({ call, generation, model }: GenerationRun): Promise<number> {
  const { engine } = call.dependencies;
  const job = { ...toChatJob(generation, model.id, 0), countOnly: true as const };
  try {
    for await (const event of engine.run(job, { id: call.id, signal: call.abort.signal, model }))
      if (event.type === 'accepted') return event.accepted.promptTokens;
  } catch (error) {
    throw renamed(error, generation);
  }
  throw serverError('engine_lost', 'The engine ended before the prompt was counted. Send the request again.');
}
