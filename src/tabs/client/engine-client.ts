import { CREDIT_WINDOW, type AskerMessage } from '../../protocol/engine-port.ts';
import type { ChatJob, EmbeddingResult } from '../../protocol/job.ts';
import { PROTOCOL_VERSION } from '../../protocol/version.ts';
import type { EngineClient, EngineEvent, EngineRequest } from '../../service/service-dependencies.ts';
import { callEngine, type EngineClientDependencies } from './call-engine.ts';
import { ChatProgress } from './chat-progress.ts';
import { engineFailed } from './engine-errors.ts';
import { EventQueue } from './event-queue.ts';

const version = PROTOCOL_VERSION;

/** Credit goes back in halves of the window: fewer messages, and the engine never waits for one. */
const CREDIT_STEP = CREDIT_WINDOW / 2;

/** Reaches the one engine of all tabs, and the next one when it dies. Keeps nothing between requests. */
export function createEngineClient(dependencies: EngineClientDependencies): EngineClient {
  return {
    chat: (job, request) => ({ [Symbol.asyncIterator]: () => startChat(dependencies, job, request) }),
    async embed(job, { id, signal, onWaiting }) {
      let answer: EmbeddingResult | null = null;
      await callEngine(
        dependencies,
        { id, signal },
        {
          question: () => ({ type: 'job', version, id, job }),
          receive(message) {
            if (message.type === 'waiting') onWaiting?.(message.stage, message.servedBy);
            if (message.type === 'result') answer = message.result;
            return answer !== null;
          },
          received: () => 0,
          onLost: () => onWaiting?.('loading'),
        },
      );
      if (!answer) throw engineFailed(1);
      return answer;
    },
  };
}

function startChat(
  dependencies: EngineClientDependencies,
  job: ChatJob,
  request: EngineRequest,
): AsyncIterator<EngineEvent, undefined> {
  const { id } = request;
  const left = new AbortController();
  const signal = AbortSignal.any([request.signal, left.signal]);
  const progress = new ChatProgress(job);
  let port: MessagePort | null = null;
  let owed = 0;

  const taken = ({ type }: EngineEvent): void => {
    if (type !== 'delta' || ++owed < CREDIT_STEP) return;
    port?.postMessage({ type: 'credit', count: owed } satisfies AskerMessage);
    owed = 0;
  };
  const queue = new EventQueue<EngineEvent>({ onTaken: taken, onReturn: () => left.abort() });

  callEngine(
    dependencies,
    { id, signal },
    {
      question() {
        if (!progress.complete) return { type: 'job', version, id, job: progress.nextJob() };
        queue.push(progress.lastWord());
        return null;
      },
      receive(message, from) {
        if (message.type === 'event') {
          port = from;
          const event = progress.note(message.event);
          if (event) queue.push(event);
          // What the client has already is not read by anybody.
          else taken(message.event);
          return message.event.type === 'done';
        }
        if (message.type === 'waiting') queue.push(message);
        return false;
      },
      received: () => progress.deltas,
      onLost() {
        port = null;
        owed = 0;
        queue.push({ type: 'waiting', stage: 'loading' });
      },
    },
  ).then(
    () => queue.end(),
    (error: unknown) => queue.fail(error),
  );
  return queue;
}
