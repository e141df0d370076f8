import { createDeferred } from '#base';
import { RATE } from './decode-sound.ts';
import { Recorder } from './recorder.ts';
import { VoiceActivity } from './voice-activity.ts';

const POLL_MS = 50;
/** The microphone is turned off after this silence. */
const MAX_SILENCE_MS = 30_000;
/** Sound kept from before the speech was noticed: its first word. */
const LEAD_SECONDS = 0.6;

interface Options {
  signal: AbortSignal;
  onRecorder: (recorder: Recorder) => void;
  onSpeech: () => void;
  /** Whether silence counts: not during a reply. */
  isWaiting: () => boolean;
}

/**
 * Records until something was said and silence follows.
 * @returns the samples of the speech; null after too long a silence
 * @throws Error if the microphone cannot be used
 */
export async function listen({
  signal,
  onRecorder,
  onSpeech,
  isWaiting,
}: Options): Promise<Float32Array | null> {
  const recorded = createDeferred<Float32Array>();
  const recorder = new Recorder(recorded.resolve, () => undefined);
  onRecorder(recorder);
  try {
    await recorder.start();
    signal.throwIfAborted();
    const began = await untilSpoken(recorder, signal, onSpeech, isWaiting);
    if (began === null) return null;
    recorder.stop();
    const samples = await Promise.race([recorded.promise, failure(recorder)]);
    return samples.subarray(Math.max(0, Math.round((began - LEAD_SECONDS) * RATE)));
  } finally {
    recorder.cancel();
  }
}

/** @returns when the speech began, in seconds of the recording */
async function untilSpoken(
  recorder: Recorder,
  signal: AbortSignal,
  onSpeech: () => void,
  isWaiting: () => boolean,
): Promise<number | null> {
  const activity = new VoiceActivity();
  const startedAt = performance.now();
  let last = startedAt;
  let began: number | null = null;
  let silentMs = 0;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    signal.throwIfAborted();
    const { value: problem } = recorder.problem;
    if (problem !== null) throw new Error(problem);
    // It stops by itself when the microphone is unplugged.
    if (recorder.phase.peek() !== 'recording') return began;
    const now = performance.now();
    const heard = activity.take(recorder.level(), now - last);
    silentMs = heard === 'silence' && isWaiting() ? silentMs + now - last : 0;
    last = now;
    if (heard === 'ended') return began;
    if (heard === 'speech' && began === null) {
      began = (now - startedAt) / 1000;
      onSpeech();
    }
    if (silentMs > MAX_SILENCE_MS) return null;
  }
}

/** Rejects if the recording cannot be read. */
const failure = (recorder: Recorder): Promise<never> =>
  new Promise((_, reject) =>
    recorder.problem.subscribe((problem) => problem !== null && reject(new Error(problem))),
  );
