import { signal } from '@preact/signals';
import { preference } from '../preferences.ts';
import { isFromServer } from '../requests/request-figures.ts';
import type { AssistantTurn } from './conversation.ts';
import type { Reply } from './reply.ts';

/** The first reply of this device's models in this browser, and its request in the log. */
export const firstReply = signal<{ turnId: string; requestId: string } | null>(null);
const hadReply = preference('had-reply', false);

export function noteReply(
  turn: AssistantTurn | undefined,
  reply: Reply | undefined,
  requestId: string | null,
): void {
  if (hadReply.value || !turn || !requestId || isFromServer(reply?.stats.fingerprint ?? '')) return;
  hadReply.value = true;
  firstReply.value = { turnId: turn.id, requestId };
}
