import type { ChatUsage, TokenLogprob, ToolCall } from '../../protocol/job.ts';
import type { ServiceError } from '../service-error.ts';
import type { FinishReason, ReplyEvent } from '../reply-event.ts';

/** What all objects of one answer have in common. */
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

/** How one endpoint writes what has been generated. */
export interface AnswerFormat {
  /** Of the answer's id: `chatcmpl-`. */
  idPrefix: string;
  stream(head: AnswerHead): StreamEncoder;
  /** The whole answer, to be sent as JSON. */
  whole(head: AnswerHead, choices: readonly ChoiceResult[], usage: ChatUsage): object | Promise<object>;
}

export type ChoiceEvent = Exclude<ReplyEvent, { type: 'waiting' }>;

/** The server-sent events of one streamed answer. */
export interface StreamEncoder {
  /** Empty: nothing is sent. */
  encode(event: ChoiceEvent): string;
  end(usage: ChatUsage): string | Promise<string>;
  /** The status has been sent: the error is an event. */
  failure(error: ServiceError, usage: ChatUsage): string;
}
