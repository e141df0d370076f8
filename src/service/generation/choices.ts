import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob } from '#jobs';
import { requestError } from '#base';
import { type AnswerFormat, respond } from '../http/answer.ts';
import { dataEvent, EVENT_STREAM, JSON_TYPE } from '../http/response.ts';
import type { ChoiceEvent, FinishReason } from '../reply-parts.ts';
import type { ToolName } from '../tools/tool-function.ts';
import type { ChatRun } from './admission.ts';
import { choiceCount } from './generation.ts';
import { CONCURRENT_CHOICES, generate } from './generate.ts';

/** Answers with the choices of a request. */
export const answerChoices = (run: ChatRun, format: AnswerFormat<ChoiceEvent>): Promise<Response> =>
  respond(
    run,
    format,
    (sink) => generate(run, sink),
    Math.min(choiceCount(run.meter.generation), CONCURRENT_CHOICES),
  );

/** Fields that all objects of one answer share. */
export interface AnswerHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  system_fingerprint: string;
}

/** The head of a run's answer. Its fingerprint is known once an engine has begun. */
export const answerHead = ({ exchange, meter, model }: ChatRun, idPrefix: string): AnswerHead => ({
  id: `${idPrefix}${exchange.id}`,
  created: Math.floor(exchange.receivedAt / 1000),
  model: meter.generation.model,
  system_fingerprint: exchange.trace.servedBy ?? model.id,
});

/** A call of an answer. */
export interface ChoiceCall {
  id: string;
  tool: ToolName;
  /** JSON text, or the text of a custom tool. */
  arguments: string;
}

/** One choice of a whole answer. */
export interface ChoiceResult {
  reasoning: string;
  text: string;
  calls: ChoiceCall[];
  logprobs: TokenLogprob[] | null;
  reason: FinishReason;
}

/** Maximum characters of a whole answer: servers bound only each choice. */
const MAX_CHARACTERS = 2 ** 26;
/** Characters that a log probability takes about. */
const LOGPROB_CHARACTERS = 100;

interface Choices {
  object: string;
  choices: unknown[];
}

/** How an endpoint writes choices, in the types of OpenAI's client. */
export interface ChoiceWriter<Whole extends Choices, Chunk extends Choices> {
  idPrefix: string;
  /** `object` of a whole answer, and of a chunk. */
  objects: [whole: Whole['object'], chunk: Chunk['object']];
  whole(result: ChoiceResult, index: number): Whole['choices'][number];
  /** Choice of a chunk; null: the event is not sent. */
  part(event: ChoiceEvent): Chunk['choices'][number] | null;
}

/** Answers with choices, whole or as a stream of chunks. */
export const answerCompletion = <Whole extends Choices, Chunk extends Choices>(
  run: ChatRun,
  writer: ChoiceWriter<Whole, Chunk>,
  includeUsage: boolean,
): Promise<Response> =>
  answerChoices(run, run.isStreamed ? chunks(run, writer, includeUsage) : wholeChoices(run, writer));

function chunks(
  run: ChatRun,
  { idPrefix, objects, part }: ChoiceWriter<Choices, Choices>,
  includeUsage: boolean,
): AnswerFormat<ChoiceEvent> {
  const object = objects[1];
  let head: AnswerHead | null = null;
  const chunk = (choices: unknown[], usage: ReturnType<typeof toUsage> | null = null): string => {
    const { id, created, model, system_fingerprint } = (head ??= answerHead(run, idPrefix));
    // The head is not spread: its JSON would take three times as long.
    const withUsage = includeUsage ? { usage } : {};
    return dataEvent({ id, object, created, model, system_fingerprint, choices, ...withUsage });
  };
  return {
    type: EVENT_STREAM,
    failure: dataEvent,
    event(event) {
      const choice = part(event);
      return choice === null ? '' : chunk([choice]);
    },
    end: () => `${includeUsage ? chunk([], toUsage(run.meter.total)) : ''}data: [DONE]\n\n`,
  };
}

/** Gathers the choices of an answer in one piece. */
function wholeChoices(
  run: ChatRun,
  { idPrefix, objects, whole }: ChoiceWriter<Choices, Choices>,
): AnswerFormat<ChoiceEvent> {
  const { generation } = run.meter;
  const results = Array.from({ length: choiceCount(generation) }, (): ChoiceResult => ({
    reasoning: '',
    text: '',
    calls: [],
    logprobs: generation.topLogprobs === null ? null : [],
    reason: 'stop',
  }));
  let characters = 0;
  return {
    type: JSON_TYPE,
    /** @throws ServiceError 400 for an answer that is too long */
    event(event) {
      const result = results[event.index];
      if (result) characters += add(event, result);
      if (characters > MAX_CHARACTERS)
        throw requestError(400, 'The answer exceeds 64 MB. Ask for less, or set `stream`.');
      return '';
    },
    end() {
      const choices = results.map(whole);
      const usage = toUsage(run.meter.total);
      return JSON.stringify({ ...answerHead(run, idPrefix), object: objects[0], choices, usage });
    },
  };
}

const toUsage = ({ promptTokens, cachedTokens, completionTokens, reasoningTokens = 0 }: ChatUsage) =>
  ({
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }) satisfies OpenAI.CompletionUsage;

/** @returns the characters that the event adds to the answer, about */
function add(event: ChoiceEvent, choice: ChoiceResult): number {
  switch (event.type) {
    case 'text':
      choice.text += event.text;
      for (const each of event.logprobs) choice.logprobs?.push(each);
      return event.logprobs.reduce(
        (sum, { top }) => sum + (1 + top.length) * LOGPROB_CHARACTERS,
        event.text.length,
      );
    case 'reasoning':
      choice.reasoning += event.text;
      return event.text.length;
    case 'call':
      choice.calls.push({ id: event.id, tool: event.tool, arguments: '' });
      return event.tool.name.length;
    case 'arguments': {
      const call = choice.calls[event.call];
      if (call) call.arguments += event.text;
      return event.text.length;
    }
    case 'finished':
      choice.reason = event.reason;
      return 0;
    case 'accepted':
      return 0;
  }
}
