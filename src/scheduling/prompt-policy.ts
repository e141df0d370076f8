import { POLICY } from './policy.ts';

const { maxPutAside, slice, fresh, freshText, patience, margin, sharing, keeping } = POLICY.prompt;

/** A reply of a server that computes a token of every slot in each step, as the policy sees it. */
export interface PromptView {
  readonly signal: Pick<AbortSignal, 'aborted'>;
  readonly prompt: string;
  /** Whether it only computes a prompt ahead, for other replies. */
  readonly isAhead: boolean;
  /**
   * `waiting`: it has not begun, or was put aside for a shorter prompt. `ahead`: its prompt is being computed ahead, as
   * a separate reply. `decode`: the prompt is computed, and the first token has arrived.
   */
  readonly state: { readonly name: 'waiting' | 'ahead' | 'prefill' | 'decode' };
  /** Approximate number of prompt characters to compute. 0 once they were computed ahead. */
  readonly size: number;
  /** How often it was put aside for a shorter prompt. */
  readonly putAside: number;
  /** Time at which it arrived, last began, or was last put aside. */
  readonly since: number;
  /** The reply so far. */
  readonly text: string;
}

export interface PromptsView<Reply extends PromptView = PromptView> {
  readonly replies: readonly Reply[];
  /** Approximate number of a prompt's characters that neither an idle slot nor a saved state holds. */
  uncached(prompt: string): number;
}

export const isRunning = ({ state }: PromptView): boolean =>
  state.name === 'prefill' || state.name === 'decode';
const isPrefilling = ({ state }: PromptView): boolean => state.name === 'prefill';
const isMuchMore = (characters: number, others: number): boolean => characters > 2 * others + margin;
const isMuchLonger = (a: PromptView, b: PromptView): boolean => isMuchMore(a.size, b.size);
const isSliceOver = ({ since }: PromptView, now: number): boolean => now - since >= slice;
/** Whether a prompt lets others go first. */
const yields = (reply: PromptView, now: number): boolean =>
  reply.putAside < maxPutAside || isSliceOver(reply, now);
const shortestOf = <Reply extends PromptView>(replies: readonly Reply[]): Reply | undefined =>
  replies.toSorted((a, b) => a.size - b.size)[0];

/** Prompts that fill whole steps. New replies make no progress beside them until they are put aside. */
export const filling = <Reply extends PromptView>(replies: readonly Reply[]): Reply[] =>
  replies.filter((reply) => isPrefilling(reply) && reply.size > margin);

/**
 * Picks the reply that is worked on next, and the prompts that are put aside for it: aborted replies first, then new
 * ones, then any that runs, as a step advances all of them.
 */
export function nextReply<Reply extends PromptView>(
  view: PromptsView<Reply>,
  now: number,
): { next: Reply; putAside: Reply[] } | undefined {
  const { replies } = view;
  const aborted = replies.find(({ signal }) => signal.aborted);
  if (aborted) return { next: aborted, putAside: [] };
  const next = nextPrompt(view, now) ?? replies.find(isRunning) ?? replies[0];
  return next && { next, putAside: toPutAside(replies, next, now) };
}

/** Picks the shortest waiting prompt, unless it has to wait for another one. */
function nextPrompt<Reply extends PromptView>(
  { replies, uncached }: PromptsView<Reply>,
  now: number,
): Reply | undefined {
  const computing = replies.filter(isPrefilling);
  const shortest = shortestOf(
    replies.filter((reply) => reply.state.name === 'waiting' && !isBeingComputed(reply, computing)),
  );
  if (!shortest) return undefined;
  const isOverdue = isSliceOver(shortest, now);
  const maxWait = shortest.putAside < maxPutAside ? patience : slice;
  const waitsFor = [
    // A much longer prompt in its time slice.
    computing.some((other) => isMuchLonger(other, shortest) && !yields(other, now)),
    // A new reply, which a long prompt would hold up. Only a part of a prompt that was put aside is in its slot's state.
    now - shortest.since < maxWait &&
      (shortest.putAside > 0 || uncached(shortest.prompt) > margin) &&
      // Compare by the prompt's length: a prompt computed ahead has size 0, but its request may be long.
      replies.some((other) => isFresh(other, now) && isMuchMore(shortest.size, other.prompt.length)),
    // A much shorter prompt.
    (shortest.putAside < maxPutAside || !isOverdue) &&
      computing.some((other) => isMuchLonger(shortest, other)),
  ];
  return waitsFor.includes(true) ? undefined : shortest;
}

/** Whether this prompt's prefix is being computed ahead for another reply, and can be copied then. */
function isBeingComputed(reply: PromptView, computing: readonly PromptView[]): boolean {
  const isFor = (other: PromptView): boolean =>
    other.isAhead && !isMuchLonger(other, reply) && sharedLength(other.prompt, reply.prompt) >= keeping;
  return reply.putAside < maxPutAside && computing.some(isFor);
}

/**
 * Lists prompts to put aside for a much shorter one, running or about to begin (`next`): llama.cpp fills a step
 * with the prompt in the lowest slot first.
 */
function toPutAside<Reply extends PromptView>(replies: readonly Reply[], next: Reply, now: number): Reply[] {
  const computing = replies.filter(isPrefilling);
  const shortest = shortestOf(isRunning(next) ? computing : [...computing, next]) ?? next;
  return computing.filter((reply) => isMuchLonger(reply, shortest) && yields(reply, now));
}

const isFresh = (reply: PromptView, now: number): boolean =>
  isRunning(reply) && (now - reply.since < fresh || reply.text.length < freshText);

/**
 * Whether a prompt may be counted now. Counting takes a step, which runs all slots: without a free slot, or beside a
 * prompt that fills the batch, the count would have to wait until that prompt is computed.
 */
export const mayCount = (replies: readonly PromptView[], idleSlots: number, now: number): boolean =>
  replies.length === 0 || (idleSlots > 0 && filling(replies).every((reply) => yields(reply, now)));

/**
 * Whether a prompt is computed ahead, so that others can copy its state at the cost of one more token. Each reply
 * consumes one copy of a state, so it must create the next.
 */
export function isToBeShared({ replies, uncached }: PromptsView, reply: PromptView): boolean {
  const waitsForIt = (other: PromptView): boolean =>
    other !== reply && !isRunning(other) && sharedLength(other.prompt, reply.prompt) >= keeping;
  return uncached(reply.prompt) >= sharing || replies.some(waitsForIt);
}

/** Length of the common prefix, in UTF-16 units. */
export function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}
