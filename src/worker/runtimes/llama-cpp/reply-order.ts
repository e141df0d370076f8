import { sharedLength, type Slot } from './slot-predictor.ts';
import { WORTH_KEEPING } from './slot-states.ts';
import type { Chunk, LlamaTimings } from './wllama-reply.ts';

type ReplyState =
  /** Not begun, or put aside for a shorter prompt. */
  | { name: 'waiting' }
  /** Its prompt is being computed ahead, as a separate reply. */
  | { name: 'ahead' }
  /** `decode`: the prompt is computed, and the first token has come. */
  | { name: 'prefill' | 'decode'; id: number; slot: Slot };

export interface Reply {
  readonly fields: Record<string, unknown>;
  readonly prompt: string;
  /** Computes a prompt ahead, for other replies. */
  readonly isAhead: boolean;
  readonly signal: AbortSignal;
  state: ReplyState;
  /** Characters of prompt to compute, about. */
  size: number;
  text: string;
  /** Once its prompt was computed ahead: the figures of that, if there were any. */
  computedAhead: { timings: LlamaTimings | undefined } | null;
  /** How often a shorter prompt has gone before it. */
  yielded: number;
  /** The server has refused neither its prompt nor its grammar, which it does in the first step. */
  accepted: boolean;
  onAccepted(): void;
  onChunk(chunk: Chunk): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** A long prompt lets shorter ones go first this often, and is then computed through. */
const MAX_YIELDED = 8;
/** Characters. Stepping back is not worth it between prompts of about one length. */
const MARGIN = 200;

const isMuchLonger = (a: Reply, b: Reply): boolean => a.size > 2 * b.size + MARGIN;
export const isRunning = ({ state }: Reply): boolean => 'id' in state;
const isPrefilling = ({ state }: Reply): boolean => state.name === 'prefill';

/** Aborted requests first, then new ones, then any that runs: a step is one for all. */
export function nextReply(replies: readonly Reply[]): Reply | undefined {
  const aborted = replies.find(({ signal }) => signal.aborted);
  if (aborted) return aborted;
  const prompt = nextPrompt(replies);
  if (prompt) return prompt;
  return replies.find(isRunning) ?? replies[0];
}

/** The shortest prompt that waits, unless a much shorter one is being computed. */
function nextPrompt(replies: readonly Reply[]): Reply | undefined {
  const computing = replies.filter(isPrefilling);
  const [first, ...others] = replies.filter(
    (reply) => reply.state.name === 'waiting' && !isBeingComputed(reply, computing),
  );
  if (!first) return undefined;
  const shortest = others.reduce((best, each) => (each.size < best.size ? each : best), first);
  const mustWait = shortest.yielded < MAX_YIELDED && computing.some((other) => isMuchLonger(shortest, other));
  return mustWait ? undefined : shortest;
}

/** What this prompt begins with is being computed for another one, and will be copied. */
function isBeingComputed(reply: Reply, computing: readonly Reply[]): boolean {
  const isFor = (other: Reply): boolean =>
    other.isAhead && !isMuchLonger(other, reply) && sharedLength(other.prompt, reply.prompt) >= WORTH_KEEPING;
  return reply.yielded < MAX_YIELDED && computing.some(isFor);
}

/** llama.cpp fills a step with the prompt of the lowest slot first: much longer ones are put aside meanwhile. */
export const toPutAside = (replies: readonly Reply[], shorter: Reply): Reply[] =>
  replies.filter(
    (reply) => isPrefilling(reply) && reply.yielded < MAX_YIELDED && isMuchLonger(reply, shorter),
  );
