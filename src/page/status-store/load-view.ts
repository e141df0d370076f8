import type { LocaltextState, ModelState } from './state.ts';

/** View of a model's load, with the one action that it offers. */
export interface LoadView {
  text: string;
  /** Figures, which change many times a second, or the technical message of a failure: not announced by screen readers. */
  details?: string;
  /** Share of the load that is done; `{}`: unknown. Absent: no bar. */
  bar?: { value?: number; max?: number };
  button?: 'Download' | 'Load' | 'Cancel' | 'Try again';
}

/**
 * @param cancelled whether the visitor has cancelled this load, which continues for another tab
 * @param waits whether no bytes have arrived for a while
 */
export function viewOf(
  id: string,
  model: ModelState,
  { status }: LocaltextState,
  { cancelled, waits }: { cancelled?: boolean; waits?: boolean },
): LoadView {
  const { state, progress, secondsLeft, error } = model;
  const gpu = gpuNote(id, status);
  if (state === 'failed') return failedView(id, error);
  if (state === 'ready') return { text: `${id} is ready and runs on this device.${gpu}` };
  if (state === 'starting') return { text: 'Starting…' };
  if (state === 'idle') return idleView(id, model, gpu);
  const button = cancelled ? {} : { button: 'Cancel' as const };
  if (progress?.phase === 'compile') return { text: `Compiling shaders for ${id}…`, bar: {}, ...button };
  if (progress?.phase !== 'download' || progress.totalBytes === 0)
    return { text: `Loading ${id}…`, bar: {}, ...button };
  const { loadedBytes, totalBytes } = progress;
  // At the end, the file is hashed.
  const rest = restText(secondsLeft, waits && loadedBytes < totalBytes);
  const details = `${formatBytes(loadedBytes)} of ${formatBytes(totalBytes)}${rest}`;
  return { text: `Downloading ${id}…`, details, bar: { value: loadedBytes, max: totalBytes }, ...button };
}

/** Models of other kinds run on the processor beside a GPU, too, at least at first. */
const gpuNote = (id: string, status: LocaltextState['status']): string =>
  status?.gpu === null && status.models.some((each) => each.id === id && each.kind === 'chat')
    ? ' No GPU was found: it runs on the processor, which is slower.'
    : '';

function restText(secondsLeft: number | null, waits?: boolean): string {
  if (waits) return ', paused or waiting for the connection';
  return secondsLeft === null ? '' : `, about ${formatSeconds(secondsLeft)}`;
}

const failedView = (id: string, error: ModelState['error']): LoadView => ({
  text: `${id} could not be loaded.`,
  ...(error && { details: error.message }),
  button: 'Try again',
});

function idleView(id: string, { downloadBytes, unloadedFor }: ModelState, gpu: string): LoadView {
  if (unloadedFor !== null) {
    const text = `${id} was unloaded, because ${unloadedFor} needed its memory. The next request loads it again.`;
    return { text, button: 'Load' };
  }
  if (downloadBytes === 0) return { text: `${id} is stored in this browser.`, button: 'Load' };
  if (downloadBytes === null) return { text: `${id} is not loaded.`, button: 'Load' };
  // Shown without a time: before any download there is only the browser's guess at the connection.
  const once = `The download happens once: ${id} stays in this browser and needs no network then.`;
  return { text: once + gpu, details: formatBytes(downloadBytes), button: 'Download' };
}

/** Decimal units, as browsers and disks count. */
const formatBytes = (bytes: number): string =>
  bytes < 999.5e6 ? `${Math.max(1, Math.round(bytes / 1e6))} MB` : `${(bytes / 1e9).toFixed(1)} GB`;

const formatSeconds = (seconds: number): string =>
  seconds < 90 ? `${Math.max(1, seconds)} s` : `${Math.round(seconds / 60)} min`;
