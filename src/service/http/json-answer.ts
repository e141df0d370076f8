import { afterCancel } from './after-cancel.ts';
import type { Call } from './call.ts';
import { withTimeout } from '../../protocol/abort.ts';
import { HEADERS_DEADLINE_MS } from './headers-deadline.ts';
import { ServiceError } from '../service-error.ts';

/**
 * An answer in one piece. Its status waits until it is known, so that a failure is a status and not a broken body.
 * Only at the deadline, and only while the engine computes, the headers go out before the body.
 * @throws ServiceError what `answer` fails with; `model_not_ready` at the deadline
 */
export async function answerJson(
  call: Call,
  answer: Promise<string>,
  { isComputing, headers }: { isComputing: () => boolean; headers: () => Headers },
): Promise<Response> {
  const { trace, receivedAt, dependencies } = call;
  trace?.open();
  const spentMs = dependencies.now() - receivedAt;
  const whole = await withTimeout(answer, HEADERS_DEADLINE_MS - spentMs);
  if (whole !== null) {
    trace?.whole(whole);
    return new Response(whole, { headers: headers() });
  }
  if (isComputing()) return new Response(lateBody(call, answer), { headers: headers() });
  const error = notReady();
  call.abort.abort(error);
  answer.catch(() => undefined);
  throw error;
}

/** Breaks off when the answer fails: its status has been sent. */
function lateBody({ trace, abort }: Call, answer: Promise<string>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let cancelled = false;
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async start(controller) {
      try {
        const text = await answer;
        if (cancelled) return;
        trace?.done(text);
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      } catch (error) {
        trace?.failed(error, cancelled);
        controller.error(error);
      }
    },
    cancel() {
      cancelled = true;
      afterCancel(() => abort.abort(new Error('the client has left')));
    },
  });
}

const notReady = (): ServiceError =>
  new ServiceError({
    status: 500,
    type: 'server_error',
    code: 'model_not_ready',
    param: null,
    message: `The model did not begin to answer within ${HEADERS_DEADLINE_MS / 1000} s: it was still loading, or other requests came first. Load it beforehand with ready(), or send the request with "stream": true, which may wait longer.`,
  });
