import { withTimeout } from '../../util/abort.ts';
import { serverError } from '../service-error.ts';
import type { Call } from './call.ts';
import { EventStream, streamOf } from './event-stream.ts';

/** Chromium ends a service worker's answer that has no headers after 310 s. */
const HEADERS_DEADLINE_MS = 290_000;

/**
 * An answer in one piece. Its status waits until it is known, so that a failure is a status and not a broken body.
 * Only at the deadline, and only while the engine computes, the headers are sent before the body.
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
    return new Response(streamOf(whole), { headers: headers() });
  }
  if (isComputing()) return new Response(lateBody(call, answer), { headers: headers() });
  const error = serverError(
    'model_not_ready',
    `The model did not begin to answer within ${HEADERS_DEADLINE_MS / 1000} s: it was still loading, or other requests came first. Load it beforehand with ready(), or send the request with "stream": true, which may wait longer.`,
  );
  call.abort.abort(error);
  answer.catch(() => undefined);
  throw error;
}

/** Breaks the body when the answer fails: its status has been sent. */
function lateBody({ trace, abort }: Call, answer: Promise<string>): EventStream['body'] {
  const stream = new EventStream(() => abort.abort(new Error('the client has left')));
  const send = async (): Promise<void> => {
    try {
      const text = await answer;
      if (stream.isClosed) return;
      trace?.done(text);
      stream.send(text);
      stream.end();
    } catch (error) {
      trace?.failed(error, stream.isClosed);
      stream.fail(error);
    }
  };
  void send();
  return stream.body;
}
