import type { EngineMessage, Question } from '../../protocol/engine-port.ts';
import type { EngineStatus, LoadProgress } from '../../protocol/worker-control.ts';
import type { WeightsCommand } from '../../protocol/weights-command.ts';
import type { WeightsReply } from '../../protocol/weights-messages.ts';
import { callEngine, type EngineClientDependencies } from './call-engine.ts';

/**
 * Loads a model into the engine, wherever it is; continues with the next leader when that one dies.
 * @throws ServiceError; the signal's reason when aborted (the load stops unless somebody else waits for it).
 */
export async function loadModel(
  dependencies: EngineClientDependencies,
  model: string,
  {
    signal,
    onProgress,
    variants,
  }: {
    signal: AbortSignal;
    onProgress?: (progress: LoadProgress) => void;
    /** None: all of them. */
    variants?: string[];
  },
): Promise<void> {
  const question = { type: 'load', model, ...(variants && { variants }) } as const;
  for await (const message of ask(dependencies, question, signal)) {
    if (message.type === 'progress') onProgress?.(message.progress);
  }
}

/** The status of the engine's worker. @throws ServiceError */
export async function readStatus(
  dependencies: EngineClientDependencies,
  signal: AbortSignal,
): Promise<EngineStatus | null> {
  for await (const message of ask(dependencies, { type: 'status' }, signal)) {
    if (message.type === 'status') return message.status;
  }
  return null;
}

/** Runs a command on the stored weights. @throws ServiceError; the signal's reason when aborted */
export async function commandWeights(
  dependencies: EngineClientDependencies,
  command: WeightsCommand,
  signal: AbortSignal,
  onProgress?: (progress: LoadProgress) => void,
): Promise<WeightsReply | null> {
  for await (const message of ask(dependencies, { type: 'weights', command }, signal)) {
    if (message.type === 'progress') onProgress?.(message.progress);
    if (message.type === 'weights') return message.reply;
  }
  return null;
}

function ask(
  dependencies: EngineClientDependencies,
  question: Question,
  signal: AbortSignal,
): AsyncIterable<EngineMessage> {
  const id = `${question.type}-${crypto.randomUUID()}`;
  return callEngine(dependencies, { id, signal, nextQuestion: () => question });
}
