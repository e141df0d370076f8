import type { ChatUsage, TokenLogprob, ToolCall } from '#jobs';
import { requestError, type ServiceError } from '#base';
import type { FinishReason, ReplyEvent } from '../reply-parts.ts';
import { answerHeaders, answerJson, JSON_TYPE } from '../http/response.ts';
import { StreamedAnswer } from '../http/streamed-answer.ts';
import type { GenerationRun } from './admission.ts';
import { choiceCount } from './generation.ts';
import { CONCURRENT_CHOICES, generate } from './generate.ts';
import type { WaitingStage } from '#protocol';

/** Fields that all objects of one answer share. */
export interface AnswerHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  fingerprint: string;
}

/** One choice of a whole answer. */
export interface ChoiceResult {
  reasoning: string;
  text: string;
  calls: ToolCall[];
  logprobs: TokenLogprob[] | null;
  reason: FinishReason;
}

/** Output format of one endpoint. */
export interface AnswerFormat {
  /** Prefix of the answer's id: `chatcmpl-`. */
  idPrefix: string;
  stream(head: AnswerHead): StreamEncoder;
  /** The whole answer, to be sent as JSON. */
  whole(head: AnswerHead, choices: readonly ChoiceResult[], usage: ChatUsage): object | Promise<object>;
}

export type ChoiceEvent = Exclude<ReplyEvent, { type: 'waiting' }>;

/** The server-sent events of one streamed answer. */
export interface StreamEncoder {
  /** Encodes an event; an empty text is not sent. */
  encode(event: ChoiceEvent): string;
  end(usage: ChatUsage): string | Promise<string>;
  /** Encodes an error as an event: the status has been sent already. */
  failure(error: ServiceError, usage: ChatUsage): string | Promise<string>;
  /** Ends the reply of a client that has left. */
  abandon?(usage: ChatUsage): void;
}

/**
 * Streams an answer. Its headers are sent once the prompt of every choice begun is known to fit, once a token
 * has arrived, or at the deadline of the current stage.
 */
export async function streamAnswer(run: GenerationRun, format: AnswerFormat): Promise<Response> {
  const { call, generation, counter } = run;
  const answer = new StreamedAnswer(call);
  let encoder: StreamEncoder | null = null;
  const started = (): StreamEncoder => (encoder ??= format.stream(answerHead(run, format.idPrefix)));

  const send = async (): Promise<undefined> => {
    const checked = new Set<number>();
    const first = Math.min(choiceCount(generation), CONCURRENT_CHOICES);
    for await (const event of generate(run)) {
      if (event.type === 'waiting') answer.enter(event.stage);
      else if (event.type === 'accepted') {
        answer.stage = 'prefill';
        answer.send(started().encode(event));
      } else {
        answer.generating();
        answer.send(started().encode(event));
        await answer.room();
        continue;
      }
      if (event.type === 'accepted' || event.stage === 'prefill') checked.add(event.index);
      if (checked.size === first) answer.releaseHeaders();
    }
  };
  const work = send()
    .catch((error: unknown) => {
      // Precedes `settle`, as the client's next request may refer to the reply at once.
      if (answer.clientHasLeft) encoder?.abandon?.(counter.usage);
      throw error;
    })
    .finally(() => run.settle());
  return answer.respond(work, {
    hasBegun: () => encoder !== null,
    timings: () => counter.timings,
    end: () => started().end(counter.usage),
    failure: (error) => started().failure(error, counter.usage),
  });
}

function answerHead({ call, generation, model }: GenerationRun, idPrefix: string): AnswerHead {
  const created = Math.floor(call.receivedAt / 1000);
  const fingerprint = call.servedBy ?? model.id;
  return { id: `${idPrefix}${call.id}`, created, model: generation.model, fingerprint };
}

/** Maximum characters of all events of a whole answer: servers bound only each choice. */
const MAX_CHARACTERS = 2 ** 26;
const TOO_LONG = 'The answer exceeds 64 MB. Ask for less, or set `stream`.';

/** Answers in one piece, with the gathered events of a stream. */
export async function wholeAnswer(run: GenerationRun, format: AnswerFormat): Promise<Response> {
  const { call, generation, counter } = run;
  let stage: WaitingStage | 'accepted' = 'loading';
  let remaining = MAX_CHARACTERS;
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
        else if (event.type !== 'waiting') {
          add(event, choices[event.index]);
          remaining -= JSON.stringify(event).length;
          // Ends all choices, and the answer with this error.
          if (remaining < 0) call.abort.abort(requestError(400, TOO_LONG));
        } else if (stage !== 'accepted') stage = event.stage;
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
    for (const each of event.logprobs) choice.logprobs?.push(each);
  } else if (event.type === 'reasoning') {
    choice.reasoning += event.text;
  } else if (event.type === 'call') {
    choice.calls.push({ id: event.id, name: event.name, arguments: '' });
  } else if (event.type === 'arguments') {
    const call = choice.calls[event.call];
    if (call) call.arguments += event.text;
  } else if (event.type === 'finished') choice.reason = event.reason;
}
