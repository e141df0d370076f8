import type { AnswerFormat } from './answer-format.ts';
import { newCallId, type AnswerHead, type ChoiceResult } from '../chat/chat-objects.ts';
import { runChoices, type ChoiceSink } from './choices.ts';
import { choiceCount } from './generation.ts';
import { answerHead, type GenerationRun } from './generation-run.ts';
import { answerJson } from '../http/json-answer.ts';
import { answerHeaders, JSON_TYPE } from '../http/response-headers.ts';

/** An answer in one piece. */
export async function completeAnswer(run: GenerationRun, format: AnswerFormat): Promise<Response> {
  const { call, generation, model, counter, settle } = run;
  const results: ChoiceResult[] = Array.from({ length: choiceCount(generation) }, () => ({
    text: '',
    calls: [],
    logprobs: generation.topLogprobs === null ? null : [],
    reason: 'stop',
  }));
  let head: AnswerHead | null = null;
  let isPrefilling = false;
  const sink: ChoiceSink = {
    accepted(_, accepted) {
      call.servedBy = accepted.fingerprint;
      head ??= answerHead(run, format.idPrefix, accepted);
    },
    text(index, text, logprobs) {
      const result = results[index];
      if (!result) return;
      result.text += text;
      result.logprobs?.push(...logprobs);
    },
    call(index, part) {
      const calls = results[index]?.calls ?? [];
      if (part.type === 'call') calls.push({ id: newCallId(), name: part.name, arguments: '' });
      else {
        const last = calls[part.call];
        if (last) last.arguments += part.text;
      }
    },
    finished(index, reason) {
      const result = results[index];
      if (result) result.reason = reason;
    },
  };
  const generate = async (): Promise<string> => {
    try {
      const { engine } = call.dependencies;
      const { id, abort } = call;
      const { params } = format;
      await runChoices({
        trace: call.trace,
        engine,
        generation,
        model,
        id,
        abort,
        counter,
        sink,
        params,
        onWaiting(stage) {
          isPrefilling = stage === 'prefill';
        },
      });
    } finally {
      await settle();
    }
    const known = head ?? answerHead(run, format.idPrefix, { fingerprint: model });
    return JSON.stringify(await format.whole(known, results, counter.usage));
  };
  return answerJson(call, generate(), {
    isComputing: () => isPrefilling || head !== null,
    headers: () => answerHeaders(call, JSON_TYPE, counter.timings),
  });
}
