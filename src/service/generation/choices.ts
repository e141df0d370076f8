import type { ChatUsage, TokenLogprob } from '#jobs';
import { requestError } from '#base';
import { type AnswerFormat, respond } from '../http/answer.ts';
import { JSON_TYPE } from '../http/response.ts';
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
  fingerprint: string;
}

/** The head of a run's answer. Its fingerprint is known once an engine has begun. */
export function answerHead({ exchange, meter, model }: ChatRun, idPrefix: string): AnswerHead {
  const created = Math.floor(exchange.receivedAt / 1000);
  const fingerprint = exchange.trace.servedBy ?? model.id;
  return { id: `${idPrefix}${exchange.id}`, created, model: meter.generation.model, fingerprint };
}

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

/** Gathers the choices of an answer in one piece. */
export class WholeChoices implements AnswerFormat<ChoiceEvent> {
  readonly type = JSON_TYPE;
  readonly #run: ChatRun;
  readonly #toObject: (choices: readonly ChoiceResult[], usage: ChatUsage) => object;
  readonly #choices: ChoiceResult[];
  #characters = 0;

  constructor(run: ChatRun, toObject: (choices: readonly ChoiceResult[], usage: ChatUsage) => object) {
    this.#run = run;
    this.#toObject = toObject;
    const { generation } = run.meter;
    this.#choices = Array.from({ length: choiceCount(generation) }, () => ({
      reasoning: '',
      text: '',
      calls: [],
      logprobs: generation.topLogprobs === null ? null : [],
      reason: 'stop',
    }));
  }

  /** @throws ServiceError 400 for an answer that is too long */
  event(event: ChoiceEvent): string {
    const choice = this.#choices[event.index];
    if (choice) this.#characters += add(event, choice);
    if (this.#characters > MAX_CHARACTERS)
      throw requestError(400, 'The answer exceeds 64 MB. Ask for less, or set `stream`.');
    return '';
  }

  end(): string {
    return JSON.stringify(this.#toObject(this.#choices, this.#run.meter.total));
  }
}

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
