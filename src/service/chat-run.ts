import type { Accepted } from '../protocol/job.ts';
import type { Call } from './call.ts';
import type { AnswerHead } from './chat-objects.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Tally } from './tally.ts';

/** A chat that has been let in and is about to be generated. */
export interface ChatRun {
  call: Call;
  request: ChatRequest;
  /** Id in the catalog. */
  model: string;
  tally: Tally;
  /** Gives the place in flight back and counts the tokens; to be called once, however the run ends. Never rejects. */
  settle(): Promise<void>;
}

export function answerHead(
  { call, request }: ChatRun,
  { fingerprint }: Pick<Accepted, 'fingerprint'>,
): AnswerHead {
  const created = Math.floor(call.receivedAt / 1000);
  return { id: `chatcmpl-${call.id}`, created, model: request.model, fingerprint };
}
