import type { RequestTrace } from './request-trace.ts';

/** How long the headers may wait: until then an abort cannot be seen, and the engine would work for nobody. */
export const COMMIT_MS = 1000;

/**
 * Resolves once `ready` has, or at the deadline: then the headers go out.
 * @throws what `ready` fails with before the deadline: it decides the status.
 */
export async function untilCommit(
  ready: Promise<unknown>,
  remainingMs: number,
): Promise<'ready' | 'deadline'> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<'deadline'>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, remainingMs), 'deadline');
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
  remainingMs: number;
  headers: () => Headers;
  onCancel: () => void;
  trace: RequestTrace | null;
}): Promise<Response> {
  const { answer, begun, remainingMs, headers, onCancel, trace } = options;
  trace?.open();
  let whole: string | null = null;
  const awaitAnswer = async (): Promise<void> => {
    whole = await answer;
    trace?.done(whole);
  };
  const answered = awaitAnswer();
  await untilCommit(begun ? Promise.race([answered, begun]) : answered, remainingMs);
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
      onCancel();
    },
  });
  return new Response(body, { headers: headers() });
}
