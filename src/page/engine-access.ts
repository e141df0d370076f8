import type { EngineStatus, LoadProgress } from '../protocol/worker-control.ts';
import { LOAD_PATH, STATUS_PATH } from '../protocol/local-paths.ts';
import { fetchLocal, toError } from './fetch-local.ts';
import { LocaltextError } from './localtext-error.ts';
import { readLines } from './read-lines.ts';

/** A service worker that is stopped breaks the connection; the load itself goes on, or is taken up again. */
const MAX_BROKEN = 3;

/** Through the service worker, which finds the leader and outlives it. @throws LocaltextError; the signal's reason when aborted */
export async function loadModel(
  model: string,
  signal: AbortSignal,
  onProgress?: (progress: LoadProgress) => void,
): Promise<void> {
  for (let broken = 1; ; broken++) {
    try {
      return await follow(model, signal, onProgress);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      if (broken === MAX_BROKEN) throw brokenOff(error);
    }
  }
}

/** Null: no engine answers. @throws LocaltextError */
export async function readStatus(): Promise<EngineStatus | null> {
  const response = await fetchLocal(STATUS_PATH);
  if (response.status === 204 || response.status === 500) return null;
  if (response.ok) return (await response.json()) as EngineStatus;
  throw await toError(response);
}

const brokenOff = (cause?: unknown): LocaltextError =>
  new LocaltextError('engine_lost', 'The model load was interrupted. Try again.', cause);

/** @throws TypeError when the connection breaks. */
const follow: typeof loadModel = async (model, signal, onProgress) => {
  const response = await fetchLocal(`${LOAD_PATH}?model=${encodeURIComponent(model)}`, {
    method: 'POST',
    signal,
  });
  let loaded = false;
  await readLines(response, (line) => {
    if (line.type === 'progress') onProgress?.(line.progress);
    loaded ||= line.type === 'loaded';
  });
  if (!loaded) throw brokenOff();
};
