import { toWireError, requestError, abortable, createDeferred, type Deferred } from '#base';
import type { Kind } from '#jobs';
import {
  CREDIT_WINDOW,
  requestLock,
  whenReleased,
  PROTOCOL_VERSION,
  type RequesterMessage,
  type EngineMessage,
  type EnginePort,
  type EngineStatus,
  type OnProgress,
} from '#protocol';
import type { ModelManager } from '#models';
import { JobPaused } from '#scheduling';
import type { Weights } from '#weights';
import { type JobSink, serveJob } from './serve-job.ts';
import { SharedJobs } from './shared-jobs.ts';

type AskedQuestion = Extract<RequesterMessage, { id: string }>;

/** Time after which a port without a request is closed: its client has died, or asked another engine. */
const SILENCE_MS = 30_000;

/** Minimum time between two progress messages of a phase, in milliseconds. */
const PROGRESS_MS = 100;

const shared = new SharedJobs();

export interface Serving {
  epoch: string;
  scope: string;
  modelManager: ModelManager;
  /** Origins, besides the site's, that images may be fetched from. */
  imageOrigins: readonly string[];
  locks: LockManager;
  weights: Pick<Weights, 'run'>;
  status(): EngineStatus;
  /** Called when a request begins that may change the status. @returns a function to call when the request ends */
  onRequest(): () => void;
}

/** Answers the single request of a port. */
export function servePort(port: EnginePort, serving: Serving, link?: MessagePort): void {
  const abort = new AbortController();
  const credit = new Credit();
  const send = (message: EngineMessage): void => port.postMessage(message);
  const silence = setTimeout(() => port.close(), SILENCE_MS);
  let hasQuestion = false;

  port.onmessage = ({ data }) => {
    if (data.type === 'credit') credit.add(data.count);
    else if (data.type === 'cancel') abort.abort(new DOMException('The requester cancelled.', 'AbortError'));
    else if (!hasQuestion) {
      hasQuestion = true;
      clearTimeout(silence);
      void answer(data);
    }
  };
  const connected = { type: 'connected', version: PROTOCOL_VERSION, epoch: serving.epoch } as const;
  if (link) port.postMessage({ ...connected, link }, [link]);
  else send(connected);

  async function answer(question: AskedQuestion): Promise<void> {
    if (question.version !== PROTOCOL_VERSION) {
      send({ type: 'error', error: mismatch(question.version) });
      port.close();
      return;
    }
    const stopWatching = watchRequester(question.id);
    // A status request must not trigger another status broadcast.
    const end = question.type === 'status' ? null : serving.onRequest();
    try {
      await reply(question);
    } catch (error) {
      // Nobody waits for the answer to an aborted request.
      if (abort.signal.aborted) return;
      if (error instanceof JobPaused) {
        send({ type: 'paused' });
        return;
      }
      if (toWireError(error).code === 'engine_failed') console.error('localtext: a request failed', error);
      send({ type: 'error', error: toWireError(error) });
    } finally {
      end?.();
      stopWatching();
      // A BroadcastChannel is not closed by the end of its other side.
      port.close();
    }
  }

  /** Queues for the requester's lock. Acquiring it before the answer is complete means that the requester has died. */
  function watchRequester(id: string): () => void {
    const answered = new AbortController();
    whenReleased(serving.locks, requestLock(serving.scope, id), answered.signal).then(
      () => abort.abort(new DOMException('The requester is gone.', 'AbortError')),
      () => undefined,
    );
    return () => answered.abort();
  }

  async function reply(question: AskedQuestion): Promise<void> {
    const { modelManager, imageOrigins } = serving;
    const { signal } = abort;
    const sendProgress: OnProgress = (progress) => send({ type: 'progress', progress });
    if (question.type === 'status') send({ type: 'status', status: serving.status() });
    else if (question.type === 'weights') {
      const { command } = question;
      const answered = await serving.weights.run(command, signal, throttled(sendProgress));
      send({ type: 'weights', reply: answered });
    } else if (question.type === 'load') {
      const { model, variants } = question;
      await modelManager.ready(model, signal, {
        onProgress: throttled(sendProgress),
        replan: true,
        ...(variants && { variants }),
      });
      send({ type: 'loaded' });
    } else {
      const sink: JobSink<Kind> = {
        onStage: (stage, details) => send({ type: 'stage', stage, ...details }),
        async send(event) {
          if (event.type === 'delta') await credit.take(signal);
          send({ type: 'event', event });
        },
      };
      await shared.run(question, sink, signal, (followed, abandoned) =>
        serveJob(modelManager, { ...question, imageOrigins }, abandoned, followed),
      );
    }
  }
}

/** Answers a port that the page passed on, and gives its requester a link over which to send later ports directly. */
export function serveLinked(port: MessagePort, serving: Serving): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ ports: [next] }) => next && servePort(next, serving);
  servePort(port, serving, port2);
}

/** Flow control: number of deltas that the requester can still buffer. One consumer at a time. */
class Credit {
  #available = CREDIT_WINDOW;
  #added: Deferred | null = null;

  add(count: number): void {
    this.#available += count;
    this.#added?.resolve();
  }

  /** Waits for credit and takes one. */
  async take(signal: AbortSignal): Promise<void> {
    while (this.#available <= 0) {
      this.#added = createDeferred();
      await abortable(this.#added.promise, signal);
    }
    this.#available--;
  }
}

function throttled(report: OnProgress): OnProgress {
  let last = { at: 0, phase: '' };
  return (progress) => {
    const at = performance.now();
    const { phase, loadedBytes, totalBytes } = progress;
    // Never drop a phase's first report: it may be the only one, as for the compilation of shaders.
    if (phase === last.phase && at - last.at < PROGRESS_MS && loadedBytes < totalBytes) return;
    last = { at, phase };
    report(progress);
  };
}

function mismatch(version: number) {
  const message = `Protocol version mismatch: this page's engine uses version ${PROTOCOL_VERSION}, the request version ${version}. Reload the page.`;
  return requestError(400, message, 'protocol_mismatch').wire;
}
