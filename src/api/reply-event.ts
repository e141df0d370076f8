import type { Accepted, EngineFinishReason, TokenLogprob } from '../protocol/job.ts';
import type { Waiting } from './service-dependencies.ts';

/** A piece of a reply, in the order in which the model writes. */
export type ReplyPart =
  | { type: 'text'; text: string; logprobs: TokenLogprob[] }
  /** What the model thinks before it answers. */
  | { type: 'reasoning'; text: string }
  | { type: 'call'; call: number; id: string; name: string }
  /** The next piece of that call's arguments: JSON text. */
  | { type: 'arguments'; call: number; text: string };

export type FinishReason = EngineFinishReason | 'tool_calls';

/** What happens to one choice: `accepted` once, its parts, `finished` once. `waiting` may come at any time. */
export type ReplyEvent = { index: number } & (
  Waiting | { type: 'accepted'; accepted: Accepted } | ReplyPart | { type: 'finished'; reason: FinishReason }
);

/** Turns an engine's text into parts. */
export interface ReplyReader {
  /** Set when the reply ends before the engine does. `call`: a call begins, which is generated under its schema. */
  readonly ended: 'stop' | 'call' | null;
  push(text: string, logprobs?: readonly TokenLogprob[]): ReplyPart[];
  /** The rest, when the engine has ended. */
  flush(): ReplyPart[];
  finishReason(reason: EngineFinishReason): FinishReason;
}
