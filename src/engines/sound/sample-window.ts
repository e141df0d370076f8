import { abortable } from '#base';
import type { Sound } from './read-audio.ts';
import { SAMPLE_RATE } from './resampler.ts';

const WINDOW_SAMPLES = 30 * SAMPLE_RATE;

/** Window on the next 30 s of a sound. Only the window and one piece of the sound are in memory. */
export class SampleWindow {
  readonly #sound: Sound;
  readonly #signal: AbortSignal;
  #samples = new Float32Array(0);
  #ended = false;
  /** Number of samples before the window. */
  #position = 0;
  #read = 0;

  constructor(sound: Sound, signal: AbortSignal) {
    this.#sound = sound;
    this.#signal = signal;
  }

  /** Seconds before the window. */
  get position(): number {
    return this.#position / SAMPLE_RATE;
  }

  /** Seconds read so far. */
  get seconds(): number {
    return this.#read / SAMPLE_RATE;
  }

  /** Returns the window, which is shorter only at the sound's end. */
  async fill(): Promise<Float32Array> {
    const pieces = [this.#samples];
    let { length } = this.#samples;
    while (length < WINDOW_SAMPLES && !this.#ended) {
      const piece = await this.#next();
      if (piece) pieces.push(piece);
      length += piece?.length ?? 0;
    }
    if (pieces.length > 1) this.#samples = new Float32Array(await new Blob(pieces).arrayBuffer());
    return this.#samples.subarray(0, WINDOW_SAMPLES);
  }

  async skip(seconds: number): Promise<void> {
    let remaining = Math.round(seconds * SAMPLE_RATE);
    for (;;) {
      const count = Math.min(remaining, this.#samples.length);
      this.#samples = this.#samples.slice(count);
      this.#position += count;
      remaining -= count;
      if (remaining === 0 || this.#ended) return;
      const piece = await this.#next();
      if (piece) this.#samples = piece;
    }
  }

  async #next(): Promise<Float32Array<ArrayBuffer> | null> {
    const { value, done } = await abortable(this.#sound.next(), this.#signal);
    this.#ended = done === true;
    this.#read += value?.length ?? 0;
    return value ?? null;
  }
}
