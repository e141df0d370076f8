import {
  STATUS_ID,
  type EngineRequester,
  type EngineRequest,
  type StageEvent,
  type EngineMessage,
  type Question,
  type CommandOf,
  type WeightsCommand,
  type WeightsReplies,
  type EngineStatus,
  type OnProgress,
} from '#protocol';
import type { EventOf, JobOf, Kind } from '#jobs';
import { askEngine, engineFailed } from './ask-engine.ts';
import type { EngineConnection } from './engine-connection.ts';
import { trackProgress } from './job-progress.ts';

/** Creates a requester of the one engine of all tabs, and of the next one when it ends. */
export const createRequester = (connection: EngineConnection): EngineRequester => ({
  run<K extends Kind>(job: JobOf<K>, { id, signal, origin }: EngineRequest) {
    const progress = trackProgress(job.kind, job);
    let sender = origin;
    return askEngine<StageEvent | EventOf<K>, K>(connection, {
      id,
      signal,
      nextQuestion: (pauses) => {
        const next = progress.nextJob();
        const question: Question | null = next && {
          type: 'job',
          job: next,
          pauses,
          ...(sender && { origin: sender }),
        };
        if (sender) {
          // After an engine is lost, all attempts reconnect at once: the time between them no longer tells a
          // retry.
          const { attempt: _, ...again } = sender;
          sender = again;
        }
        return question;
      },
      rest: () => progress.lastEvent?.() ?? null,
      received: () => progress.deltas,
      read: (message) => {
        if (message.type === 'stage') return message;
        return message.type === 'event' ? progress.note(message.event) : null;
      },
    });
  },
});

/**
 * Loads a model into the engine, wherever it is; continues with the next leader when that one ends.
 * `variants`: the only variants that may be loaded; absent: all.
 * @throws ServiceError; the signal's reason when aborted (the load stops unless another caller waits for it)
 */
export async function loadModel(
  connection: EngineConnection,
  model: string,
  { signal, onProgress, variants }: { signal: AbortSignal; onProgress?: OnProgress; variants?: string[] },
): Promise<void> {
  const question = { type: 'load', model, ...(variants && { variants }) } as const;
  await ask(connection, question, 'loaded', { signal, onProgress });
}

/** The status of the engine's worker. @throws ServiceError */
export const readStatus = async (connection: EngineConnection, signal: AbortSignal): Promise<EngineStatus> =>
  (await ask(connection, { type: 'status' }, 'status', { signal })).status;

/** Runs a command on the stored weights. @throws ServiceError; the signal's reason when aborted */
export async function commandWeights<T extends WeightsCommand['type']>(
  connection: EngineConnection,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress?: OnProgress,
): Promise<WeightsReplies[T]> {
  const { reply } = await ask(connection, { type: 'weights', command }, 'weights', { signal, onProgress });
  // The type of a port's messages does not follow the question's.
  return reply as WeightsReplies[T];
}

/** Asks a question that has one answer. */
async function ask<Type extends 'loaded' | 'status' | 'weights'>(
  connection: EngineConnection,
  question: Question,
  answer: Type,
  { signal, onProgress }: { signal: AbortSignal; onProgress?: OnProgress | undefined },
): Promise<Extract<EngineMessage, { type: Type }>> {
  const id = (question.type === 'status' ? STATUS_ID : `${question.type}-`) + crypto.randomUUID();
  const read = (message: EngineMessage): EngineMessage => message;
  for await (const message of askEngine(connection, { id, signal, read, nextQuestion: () => question })) {
    if (message.type === 'progress') onProgress?.(message.progress);
    if (message.type === answer) return message as Extract<EngineMessage, { type: Type }>;
  }
  throw engineFailed(1);
}
