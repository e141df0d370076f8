import type { ChatJob } from '../protocol/job.ts';
import type { EngineClient, EngineEvent, EngineRequest } from '../api/service-dependencies.ts';
import { callEngine, type EngineClientDependencies } from './call-engine.ts';
import { ChatProgress } from './chat-progress.ts';
import { engineFailed } from './engine-errors.ts';

/** Calls the one engine of all tabs, and the next one when it dies. */
export function createEngineClient(dependencies: EngineClientDependencies): EngineClient {
  return {
    chat: (job, request) => chat(dependencies, job, request),
    async embed(job, { id, signal, onWaiting }) {
      const nextQuestion = () => ({ type: 'job', job }) as const;
      for await (const message of callEngine(dependencies, { id, signal, nextQuestion })) {
        if (message.type === 'waiting') onWaiting?.(message.stage, message.servedBy);
        if (message.type === 'result') return message.result;
      }
      throw engineFailed(1);
    },
  };
}

async function* chat(
  dependencies: EngineClientDependencies,
  job: ChatJob,
  { id, signal }: EngineRequest,
): AsyncGenerator<EngineEvent, void, undefined> {
  const progress = new ChatProgress(job);
  const messages = callEngine(dependencies, {
    id,
    signal,
    nextQuestion: () => (progress.complete ? null : { type: 'job', job: progress.nextJob() }),
    received: () => progress.deltas,
  });
  for await (const message of messages) {
    if (message.type === 'waiting') yield message;
    if (message.type !== 'event') continue;
    const event = progress.note(message.event);
    if (event) yield event;
    if (message.event.type === 'done') return;
  }
  yield progress.lastEvent();
}
