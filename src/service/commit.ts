import { afterCancel } from './after-cancel.ts';
import type { RequestTrace } from './request-trace.ts';

/** How long the headers may wait: until then an abort cannot be seen, and the engine would work for nobody. */
export const COMMIT_MS = 1000;

/** How long they may wait past that for an engine that is counting the tokens of a long prompt. */
const COUNT_MS = 1000;

/** Whether the prompt fits is about to be known: an engine has taken it up, and counts. */
export interface Counting {
  under(): boolean;
  over: Promise<void>;
}

/**
 * Resolves once `ready` has, or at the deadline: then the headers go out. A deadline that falls into the counting of
 * tokens waits for its end, as a prompt that does not fit is a status.
 * @throws what `ready` fails with before the deadline: it decides the status.
 */
export async function untilCommit(
  ready: Promise<unknown>,
  remainingMs: number,
  counting: Counting | null = null,
): Promise<'ready' | 'deadline'> {
  const outcome = await within(remainingMs, ready);
  if (outcome === 'ready' || !counting?.under()) return outcome;
  await within(COUNT_MS, Promise.race([ready, counting.over]));
  return within(0, ready);
}

async function within(ms: number, ready: Promise<unknown>): Promise<'ready' | 'deadline'> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<'deadline'>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms), 'deadline');
  });
  try {
    return await Promise.race([ready.then(() => 'ready' as const), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * An answer in one piece: with its status when it is there in time, else behind headers that are sent before it, so
 * that a client which leaves is noticed. A failure after the headers breaks the body.
 */
export async function answerLater(options: {
  answer: Promise<string>;
  /** The engine has begun to answer: the headers need wait no longer. */
  begun?: Promise<void>;
  counting?: Counting;
  remainingMs: number;
  headers: () => Headers;
  onCancel: () => void;
  trace: RequestTrace | null;
}): Promise<Response> {
  const { answer, begun, counting, remainingMs, headers, onCancel, trace } = options;
  trace?.open();
  let whole: string | null = null;
  const awaitAnswer = async (): Promise<void> => {
    whole = await answer;
    trace?.done(whole);
  };
  const answered = awaitAnswer();
  await untilCommit(begun ? Promise.race([answered, begun]) : answered, remainingMs, counting);
  if (whole !== null) return new Response(whole, { headers: headers() });
  let cancelled = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async start(controller) {
      const text = await answer.catch((error: unknown) => {
        trace?.failed(error, cancelled);
        throw error;
      });
      if (cancelled) return;
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
    cancel() {
      cancelled = true;
      afterCancel(onCancel);
    },
  });
  return new Response(body, { headers: headers() });
}
