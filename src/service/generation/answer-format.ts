import type { ChatUsage, TokenLogprob } from '../../protocol/job.ts';
import type { AnswerHead, ChoiceResult } from '../chat/chat-objects.ts';
import type { FinishReason } from './reply.ts';
import type { ServiceError } from '../service-error.ts';

/** What an endpoint calls the fields that engines know under other names. */
export interface ParamNames {
  messages: string;
  response_format: string;
}

/** How one endpoint writes what has been generated. */
export interface AnswerFormat {
  /** Of the answer's id: `chatcmpl-`. */
  idPrefix: string;
  params: ParamNames;
  stream(head: AnswerHead): StreamFormat;
  /** The whole answer, to be sent as JSON. */
  whole(head: AnswerHead, choices: readonly ChoiceResult[], usage: ChatUsage): object | Promise<object>;
}

/** The events of one streamed answer: each method gives what is to be sent, empty for nothing. */
export interface StreamFormat {
  begin(index: number): string;
  text(index: number, text: string, logprobs: readonly TokenLogprob[]): string;
  call(index: number, call: number, id: string, name: string): string;
  callArguments(index: number, call: number, text: string): string;
  finish(index: number, reason: FinishReason): string;
  end(usage: ChatUsage): string | Promise<string>;
  /** The status has gone out: the error is an event. */
  failure(error: ServiceError, usage: ChatUsage): string;
}
