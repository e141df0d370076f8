import { remainingMs, type Call } from './call.ts';
import { toChatCompletion, type AnswerHead, type ChoiceResult } from './chat-objects.ts';
import { parseChatRequest } from './chat-request.ts';
import { answerHead, type ChatRun } from './chat-run.ts';
import { runChoices, type ChoiceSink } from './choices.ts';
import { streamChat } from './chat-stream.ts';
import { answerLater } from './commit.ts';
import { requireModel } from './model-access.ts';
import { createMoment } from './moment.ts';
import { readJsonObject } from './request-body.ts';
import { answerHeaders, JSON_TYPE } from './response-headers.ts';
import { rateLimited } from './service-error.ts';
import { Tally } from './tally.ts';

/** POST /v1/chat/completions */
export async function createChatCompletion(call: Call): Promise<Response> {
  const request = parseChatRequest(await readJsonObject(call.request));
  const model = await requireModel(call.dependencies.models, request.model, 'chat', call.admitted);
  const leave = await takePlace(call);
  const tally = new Tally();
  const settle = async (): Promise<void> => {
    leave();
    // The reply is good even where its tokens cannot be counted.
    await call.dependencies.keys.settle(call.admitted.keyId, tally.totalTokens).catch(() => {});
  };
  const answer = request.stream ? streamChat : completeChat;
  return answer({ call, request, model: model.id, tally, settle });
}

/** @throws ServiceError 429 */
async function takePlace({ admitted, dependencies, id }: Call): Promise<() => void> {
  const { exceeded, limits, inFlightLimit } = admitted;
  if (exceeded) {
    const limit = limits ? ` of ${limits[exceeded.what].limit} ${exceeded.what} a minute` : '';
    const wait = Math.ceil(exceeded.retryAfterMs / 1000);
    throw rateLimited(`This key's limit${limit} is used up. Try again in ${wait} s.`, exceeded.retryAfterMs);
  }
  const leave = await dependencies.keys.enter(admitted, id);
  if (leave) return leave;
  const limit = `${inFlightLimit} request${inFlightLimit === 1 ? '' : 's'}`;
  throw rateLimited(`This key may have ${limit} in flight. Try again when one of them has ended.`, 1000);
}

async function completeChat(run: ChatRun): Promise<Response> {
  const { call, request, model, tally, settle } = run;
  const results: ChoiceResult[] = Array.from({ length: request.choices }, () => ({
    text: '',
    logprobs: request.topLogprobs === null ? null : [],
    reason: 'stop',
  }));
  let head: AnswerHead | null = null;
  const begun = createMoment();
  const sink: ChoiceSink = {
    accepted(_, accepted) {
      head ??= answerHead(run, accepted);
    },
    text(index, text, logprobs) {
      begun.reach();
      const result = results[index];
      if (!result) return;
      result.text += text;
      result.logprobs?.push(...logprobs);
    },
    finished(index, reason) {
      const result = results[index];
      if (result) result.reason = reason;
    },
  };
  const generate = async (): Promise<string> => {
    try {
      const { engine } = call.dependencies;
      await runChoices({
        engine,
        request,
        model,
        id: call.id,
        abort: call.abort,
        tally,
        sink,
        onWaiting() {},
      });
    } finally {
      await settle();
    }
    const known = head ?? answerHead(run, { fingerprint: model });
    return JSON.stringify(toChatCompletion(known, results, tally.usage));
  };
  return answerLater({
    answer: generate(),
    begun: begun.reached,
    remainingMs: remainingMs(call),
    headers: () => answerHeaders(call, JSON_TYPE, tally.timings),
    onCancel: () => call.abort.abort(new Error('the client has left')),
  });
}
