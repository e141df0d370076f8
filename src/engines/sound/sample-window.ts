import { abortable } from '#base';
import type { Sound } from './read-audio.ts';
import { SAMPLE_RATE } from './resampler.ts';

const WINDOW_SAMPLES = 30 * SAMPLE_RATE;

/** Window on the next 30 s of a sound. Only the window and one piece of the sound are in memory. */
export function sampleWindow(sound: Sound, signal: AbortSignal) {
  let samples = new Float32Array(0);
  let ended = false;
  /** Number of samples before the window, and of those read so far. */
  let before = 0;
  let read = 0;

  async function next(): Promise<Float32Array<ArrayBuffer> | null> {
    const { value, done } = await abortable(sound.next(), signal);
    ended = done === true;
    read += value?.length ?? 0;
    return value ?? null;
  }

  return {
    /** Seconds before the window. */
    get position(): number {
      return before / SAMPLE_RATE;
    },

    /** Seconds read so far. */
    get seconds(): number {
      return read / SAMPLE_RATE;
    },

    /** Returns the window, which is shorter only at the sound's end. */
    async fill(): Promise<Float32Array> {
      const pieces = [samples];
      let { length } = samples;
      while (length < WINDOW_SAMPLES && !ended) {
        const piece = await next();
        if (piece) pieces.push(piece);
        length += piece?.length ?? 0;
      }
      if (pieces.length > 1) samples = new Float32Array(await new Blob(pieces).arrayBuffer());
      return samples.subarray(0, WINDOW_SAMPLES);
    },

    async skip(seconds: number): Promise<void> {
      let remaining = Math.round(seconds * SAMPLE_RATE);
      for (;;) {
        const count = Math.min(remaining, samples.length);
        samples = samples.slice(count);
        before += count;
        remaining -= count;
        if (remaining === 0 || ended) return;
        samples = (await next()) ?? samples;
      }
    },
  };
}
