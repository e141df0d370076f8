import type { AnswerFormat } from '../generation/answer-format.ts';
import type { Call } from '../http/call.ts';
import { inputOf } from '../generation/generation.ts';
import { admitGeneration } from '../generation/generation-run.ts';
import { readJsonObject } from '../body/request-body.ts';
import { streamAnswer } from '../generation/streamed-answer.ts';
import { completeAnswer } from '../generation/whole-answer.ts';
import { CompletionEncoder, toCompletion } from './completion-objects.ts';
import { parseCompletionRequest } from './completion-request.ts';

/** POST /v1/completions */
export async function createCompletion(call: Call): Promise<Response> {
  const { generation, echoes, stream, includeUsage } = parseCompletionRequest(await readJsonObject(call));
  const echo = (index: number): string => echoes[inputOf(generation, index)] ?? '';
  const format: AnswerFormat = {
    idPrefix: 'cmpl-',
    params: { messages: 'prompt', response_format: 'prompt' },
    stream: (head) => new CompletionEncoder(head, includeUsage, echo),
    whole: (head, choices, usage) => toCompletion(head, choices, usage, echo),
  };
  const run = await admitGeneration(call, generation);
  return stream ? streamAnswer(run, format) : completeAnswer(run, format);
}
