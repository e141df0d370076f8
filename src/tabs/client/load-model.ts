import type { EngineStatus, LoadProgress } from '../../protocol/worker-control.ts';
import type { WeightsCommand, WeightsReply } from '../../protocol/weights-messages.ts';
import { PROTOCOL_VERSION } from '../../protocol/version.ts';
import { callEngine, type EngineClientDependencies } from './call-engine.ts';

const version = PROTOCOL_VERSION;

/**
 * Loads a model into the engine, wherever it is; goes on with the next leader when that one dies.
 * @throws ServiceError; the signal's reason when aborted (the load stops unless somebody else waits for it).
 */
export async function loadModel(
  dependencies: EngineClientDependencies,
  model: string,
  options: { signal: AbortSignal; onProgress?: (progress: LoadProgress) => void },
): Promise<void> {
  const { signal, onProgress } = options;
  const id = `load-${crypto.randomUUID()}`;
  await callEngine(
    dependencies,
    { id, signal },
    {
      question: () => ({ type: 'load', version, id, model }),
      receive(message) {
        if (message.type === 'progress') onProgress?.(message.progress);
        return message.type === 'loaded';
      },
      received: () => 0,
    },
  );
}

/** What the engine's worker says of itself. @throws ServiceError */
export async function readStatus(
  dependencies: EngineClientDependencies,
  signal: AbortSignal,
): Promise<EngineStatus | null> {
  const id = `status-${crypto.randomUUID()}`;
  let status: EngineStatus | null = null;
  await callEngine(
    dependencies,
    { id, signal },
    {
      question: () => ({ type: 'status', version, id }),
      receive(message) {
        if (message.type === 'status') status = message.status;
        return status !== null;
      },
      received: () => 0,
    },
  );
  return status;
}

/** Has the engine's worker do something to the stored weights. @throws ServiceError; the signal's reason when aborted */
export async function commandWeights(
  dependencies: EngineClientDependencies,
  command: WeightsCommand,
  signal: AbortSignal,
): Promise<WeightsReply | null> {
  const id = `weights-${crypto.randomUUID()}`;
  let reply: WeightsReply | null = null;
  await callEngine(
    dependencies,
    { id, signal },
    {
      question: () => ({ type: 'weights', version, id, command }),
      receive(message) {
        if (message.type === 'weights') reply = message.reply;
        return reply !== null;
      },
      received: () => 0,
    },
  );
  return reply;
}
