import type { WaitingStage } from '../../protocol/engine-port.ts';
import { answerJson } from '../http/json-answer.ts';
import { answerHeaders, JSON_TYPE } from '../http/response-headers.ts';
import { answerHead, type GenerationRun } from './admission.ts';
import type { AnswerFormat, ChoiceEvent, ChoiceResult } from './answer-format.ts';
import { choiceCount } from './generation.ts';
import { generate } from './generate.ts';

/** An answer in one piece: the events of a stream, gathered. */
export async function wholeAnswer(run: GenerationRun, format: AnswerFormat): Promise<Response> {
  const { call, generation, counter } = run;
  let stage: WaitingStage | 'accepted' = 'loading';
  const gather = async (): Promise<string> => {
    const choices = Array.from({ length: choiceCount(generation) }, (): ChoiceResult => {
      return {
        reasoning: '',
        text: '',
        calls: [],
        logprobs: generation.topLogprobs === null ? null : [],
        reason: 'stop',
      };
    });
    try {
      for await (const event of generate(run)) {
        if (event.type === 'accepted') stage = 'accepted';
        else if (event.type !== 'waiting') add(event, choices[event.index]);
        else if (stage !== 'accepted') stage = event.stage;
      }
    } finally {
      await run.settle();
    }
    const head = answerHead(run, format.idPrefix);
    return JSON.stringify(await format.whole(head, choices, counter.usage));
  };
  return answerJson(call, gather(), {
    isComputing: () => stage === 'prefill' || stage === 'accepted',
    headers: () => answerHeaders(call, JSON_TYPE, counter.timings),
  });
}

function add(event: ChoiceEvent, choice: ChoiceResult | undefined): void {
  if (!choice) return;
  if (event.type === 'text') {
    choice.text += event.text;
    choice.logprobs?.push(...event.logprobs);
  } else if (event.type === 'reasoning') {
    choice.reasoning += event.text;
  } else if (event.type === 'call') {
    choice.calls.push({ id: event.id, name: event.name, arguments: '' });
  } else if (event.type === 'arguments') {
    const call = choice.calls[event.call];
    if (call) call.arguments += event.text;
  } else if (event.type === 'finished') choice.reason = event.reason;
}
