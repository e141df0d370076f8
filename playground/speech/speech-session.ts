import { signal } from '@preact/signals';
import { announce } from '../announce.ts';
import { loadFor } from '../client/downloads.ts';
import { hubAllowed, setAndReload } from '../client/catalog-settings.ts';
import { speechModel, speechState } from '../client/speech-model.ts';
import { plural } from '../format.ts';
import { problemOf } from '../problem.ts';
import { decodeSound, RATE, readDuration } from './decode-sound.ts';
import type { Segment } from './subtitles.ts';
import { transcribeFile, transcribeSamples } from './transcribe.ts';
import sampleUrl from './sample.wav';
import { writeWav } from './wav.ts';

export interface Sound {
  file: File;
  /** URL for a player. */
  url: string;
  /** Null if this page does not decode the file; it then has no waveform. */
  samples: Float32Array | null;
}

/** Longer recordings do not fit the memory of a small device. */
const MAX_DECODED_SECONDS = 30 * 60;
const MAX_DECODED_BYTES = 200e6;
/** Limit of /v1 for one request. */
const MAX_REQUEST_BYTES = 25 * 1024 * 1024;
/** Cache with the sound that waits while the page is reloaded to allow the model hub. */
const KEPT = 'localtext-playground-sound';

/** Kept while another view is shown. */
export const sound = signal<Sound | null>(null);
export const segments = signal<readonly Segment[]>([]);
/** Transcribed length, in seconds. */
export const doneSeconds = signal(0);
/** `stopped`: cancelled, or failed; it can be tried again. */
export const phase = signal<'idle' | 'reading' | 'transcribing' | 'done' | 'stopped'>('idle');
export const problem = signal<string | null>(null);
let controller = new AbortController();

/** Replaces the current file and transcribes the new one. */
export async function takeFile(file: File): Promise<void> {
  await take(file, async (url) => {
    if (file.size > MAX_DECODED_BYTES) return null;
    const seconds = await readDuration(url);
    if (seconds === null || seconds > MAX_DECODED_SECONDS) return null;
    return decodeSound(file).catch(() => null);
  });
}

/** Transcribes a short recording that comes with the page. */
export async function takeSample(): Promise<void> {
  try {
    const response = await fetch(sampleUrl);
    await takeFile(new File([await response.blob()], 'Sample.wav', { type: 'audio/wav' }));
  } catch (error) {
    problem.value = `The sample could not be fetched.\n${problemOf(error)}`;
  }
}

export async function takeRecording(samples: Float32Array): Promise<void> {
  const time = new Date().toISOString().slice(0, 16).replace('T', ' ').replace(':', '.');
  const file = new File([writeWav(samples, RATE)], `Recording ${time}.wav`, { type: 'audio/wav' });
  await take(file, () => Promise.resolve(samples));
}

/** Transcribes the sound that was kept for this page. */
export async function takeKept(): Promise<void> {
  const cache = await caches.open(KEPT);
  const [kept] = await cache.matchAll();
  const [request] = await cache.keys();
  const blob = await kept?.blob();
  await caches.delete(KEPT);
  // Without the setting, which the browser may refuse to store, the page would be reloaded for ever.
  if (!blob || !request || !hubAllowed.peek()) return;
  const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
  await takeFile(new File([blob], name, { type: blob.type }));
}

async function keepAndReload(file: File): Promise<void> {
  try {
    const cache = await caches.open(KEPT);
    await cache.put(`/${encodeURIComponent(file.name)}`, new Response(file));
    setAndReload(hubAllowed, true);
  } catch (error) {
    problem.value = problemOf(error);
  }
}

export function cancel(): void {
  controller.abort();
  phase.value = 'stopped';
  announce('Cancelled.');
}

async function take(file: File, decode: (url: string) => Promise<Float32Array | null>): Promise<void> {
  if (speechState.peek() === 'no weights' && !hubAllowed.peek()) return keepAndReload(file);
  controller.abort();
  controller = new AbortController();
  const { signal: aborted } = controller;
  if (sound.peek()) URL.revokeObjectURL(sound.peek()?.url ?? '');
  const url = URL.createObjectURL(file);
  sound.value = { file, url, samples: null };
  segments.value = [];
  phase.value = 'reading';
  problem.value = null;
  const samples = await decode(url);
  if (aborted.aborted) return;
  sound.value = { file, url, samples };
  if (samples || file.size <= MAX_REQUEST_BYTES) {
    await transcribe();
    return;
  }
  phase.value = 'idle';
  problem.value =
    'This file is larger than 25 MB, and this page reads larger ones only up to 200 MB and 30 minutes. Split it.';
}

/** Transcribes the recording again; reads the file again if reading was cancelled. */
export async function tryAgain(): Promise<void> {
  const chosen = sound.peek();
  if (chosen) await (chosen.samples ? transcribe() : takeFile(chosen.file));
}

/** Transcribes the sound from its beginning. */
async function transcribe(): Promise<void> {
  const model = speechModel.peek();
  const chosen = sound.peek();
  if (!chosen || model === null) return;
  controller = new AbortController();
  const { signal: aborted } = controller;
  segments.value = [];
  doneSeconds.value = 0;
  phase.value = 'transcribing';
  problem.value = null;
  // Shows the progress of a download that the request itself would only wait for.
  void loadFor(model, () => {
    if (!aborted.aborted) cancel();
  });
  try {
    const options = { model, signal: aborted };
    const heard = chosen.samples
      ? await transcribeSamples(chosen.samples, {
          ...options,
          onProgress: (found, seconds) => {
            if (aborted.aborted) return;
            segments.value = found;
            doneSeconds.value = seconds;
          },
        })
      : await transcribeFile(chosen.file, options);
    if (aborted.aborted) return;
    segments.value = heard;
    phase.value = 'done';
    announce(
      heard.length === 0 ? 'No speech was recognized.' : `Transcribed: ${plural(heard.length, 'segment')}.`,
    );
  } catch (error) {
    if (aborted.aborted) return;
    phase.value = 'stopped';
    problem.value = problemOf(error);
  }
}
