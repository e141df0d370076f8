import type { AnswerFormat } from '../generation/answer-format.ts';
import type { Call } from '../http/call.ts';
import { toChatCompletion } from './chat-objects.ts';
import { parseChatRequest } from './chat-request.ts';
import { ChunkEncoder } from '../generation/chunk-encoder.ts';
import { admitGeneration } from '../generation/generation-run.ts';
import { readJsonObject } from '../body/request-body.ts';
import { streamAnswer } from '../generation/streamed-answer.ts';
import { completeAnswer } from '../generation/whole-answer.ts';

/** POST /v1/chat/completions */
export async function createChatCompletion(call: Call): Promise<Response> {
  const request = parseChatRequest(await readJsonObject(call));
  const format: AnswerFormat = {
    idPrefix: 'chatcmpl-',
    params: { messages: 'messages', response_format: 'response_format' },
    stream: (head) => new ChunkEncoder(head, request.includeUsage, request.generation.tools !== null),
    whole: toChatCompletion,
  };
  const run = await admitGeneration(call, request.generation);
  return request.stream ? streamAnswer(run, format) : completeAnswer(run, format);
}
