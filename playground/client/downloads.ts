import { signal } from '@preact/signals';
import type { LoadProgress } from '../../src/index.ts';
import { announce } from '../announce.ts';
import { handle } from './localtext.ts';
import { idsWithTheSameWeights, statusOf } from './model-facts.ts';
import { holdDownload } from './stored-weights.ts';
import { bytes } from '../format.ts';
import { firstLine, problemOf } from '../problem.ts';

export interface Download {
  model: string;
  phase: LoadProgress['phase'] | 'starting' | 'cancelled' | 'failed';
  loadedBytes: number;
  totalBytes: number;
  /** Bytes a second over the last seconds; null until known. */
  rate: number | null;
  /** Why it failed, or could not be paused. */
  error: string | null;
  /** Paused by the user. */
  held: boolean;
}

const NEW: Omit<Download, 'model'> = {
  phase: 'starting',
  loadedBytes: 0,
  totalBytes: 0,
  rate: null,
  error: null,
  held: false,
};

export const hasEnded = ({ phase }: Download): boolean => phase === 'failed' || phase === 'cancelled';

export const downloads = signal<Readonly<Record<string, Download>>>({});
const controllers = new Map<string, AbortController>();
const running = new Map<string, Promise<void>>();

/** Loads a model until it answers, `retry` also as a variant that has ended a tab; joins a load that is under way. Never rejects: the outcome is in `downloads`. */
export function load(model: string, retry = false): Promise<void> {
  const already = running.get(model);
  if (already) return already;
  const promise = run(model, retry).finally(() => {
    running.delete(model);
    controllers.delete(model);
  });
  running.set(model, promise);
  return promise;
}

/** What the last failed load of each model told its user. */
const failures = signal<Readonly<Record<string, string>>>({});

/** Whether a request failed because the load of its model did, which the load card tells. */
export const isOfLoad = (model: string, problem: string): boolean =>
  failures.value[model] === firstLine(problem);

/** Loads a model for a request. When the user cancels the load, the request ends too: the engine would load the model for it. */
export async function loadFor(model: string, stop: () => void): Promise<void> {
  await load(model);
  if (downloads.peek()[model]?.phase === 'cancelled') stop();
}

/** Whether the model answers now. A request that waits for a load says nothing about the model's speed. */
export const isReady = (model: string): boolean => statusOf(model)?.state === 'ready';

export function cancelLoad(model: string): void {
  controllers.get(model)?.abort();
}

/** Pauses a download, or continues it. */
export async function hold(model: string, held: boolean): Promise<void> {
  const problem = await holdDownload(model, held);
  update(model, { error: problem });
  if (problem !== null) return;
  // Another page may be downloading the same files.
  for (const id of [model, ...idsWithTheSameWeights(model)]) if (running.has(id)) update(id, { held });
}

async function run(model: string, retry: boolean): Promise<void> {
  const controller = new AbortController();
  controllers.set(model, controller);
  // A model that already answers shows no progress during this check.
  const ready = isReady(model);
  update(model, { ...NEW, phase: ready ? 'ready' : 'starting' });
  try {
    const localtext = await handle;
    await localtext.ready(model, {
      retry,
      signal: controller.signal,
      onProgress: ({ phase, loadedBytes, totalBytes, bytesPerSecond: rate = null }) => {
        if (phase === 'download') tell(model, loadedBytes, totalBytes);
        update(model, { phase, loadedBytes, totalBytes, rate });
      },
    });
    update(model, { phase: 'ready' });
    // A reply may fail later for the same reason, without a card that tells it.
    failures.value = { ...failures.value, [model]: '' };
    if (!ready) announce(`${model} is ready.`);
  } catch (error) {
    if (controller.signal.aborted) {
      update(model, { phase: 'cancelled', error: null });
      announce(`Loading ${model} was cancelled.`);
    } else {
      const problem = problemOf(error);
      failures.value = { ...failures.value, [model]: firstLine(problem) };
      update(model, { phase: 'failed', error: problem });
    }
  }
}

/** Announces the size of a download, and its half. */
function tell(model: string, loadedBytes: number, totalBytes: number): void {
  const before = downloads.peek()[model];
  const half = totalBytes / 2;
  if (before?.phase !== 'download') announce(`Downloading ${model}, ${bytes(totalBytes)}.`);
  else if (before.loadedBytes < half && loadedBytes >= half) announce(`Half of ${model} is downloaded.`);
}

function update(model: string, change: Partial<Download>): void {
  const before = downloads.value[model] ?? NEW;
  downloads.value = { ...downloads.value, [model]: { ...before, ...change, model } };
}
