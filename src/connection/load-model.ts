import type { EngineMessage, Question } from '../protocol/engine-port.ts';
import type { WeightsCommand } from '../protocol/weights-command.ts';
import type { WeightsReply } from '../protocol/weights-messages.ts';
import type { EngineStatus, LoadProgress } from '../protocol/worker-control.ts';
import { callEngine, type EngineClientDependencies } from './call-engine.ts';
import { engineFailed } from './engine-errors.ts';

type OnProgress = (progress: LoadProgress) => void;

/**
 * Loads a model into the engine, wherever it is; continues with the next leader when that one dies.
 * `variants`: those that may be loaded; none: all of them.
 * @throws ServiceError; the signal's reason when aborted (the load stops unless somebody else waits for it).
 */
export async function loadModel(
  dependencies: EngineClientDependencies,
  model: string,
  { signal, onProgress, variants }: { signal: AbortSignal; onProgress?: OnProgress; variants?: string[] },
): Promise<void> {
  const question = { type: 'load', model, ...(variants && { variants }) } as const;
  await ask(dependencies, question, 'loaded', signal, onProgress);
}

/** The status of the engine's worker. @throws ServiceError */
export async function readStatus(
  dependencies: EngineClientDependencies,
  signal: AbortSignal,
): Promise<EngineStatus> {
  return (await ask(dependencies, { type: 'status' }, 'status', signal)).status;
}

/** Runs a command on the stored weights. @throws ServiceError; the signal's reason when aborted */
export async function commandWeights(
  dependencies: EngineClientDependencies,
  command: WeightsCommand,
  signal: AbortSignal,
  onProgress?: OnProgress,
): Promise<WeightsReply> {
  return (await ask(dependencies, { type: 'weights', command }, 'weights', signal, onProgress)).reply;
}

async function ask<Type extends 'loaded' | 'status' | 'weights'>(
  dependencies: EngineClientDependencies,
  question: Question,
  answer: Type,
  signal: AbortSignal,
  onProgress?: OnProgress,
): Promise<Extract<EngineMessage, { type: Type }>> {
  const id = `${question.type}-${crypto.randomUUID()}`;
  for await (const message of callEngine(dependencies, { id, signal, nextQuestion: () => question })) {
    if (message.type === 'progress') onProgress?.(message.progress);
    if (message.type === answer) return message as Extract<EngineMessage, { type: Type }>;
  }
  throw engineFailed(1);
}
