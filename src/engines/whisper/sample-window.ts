import { abortable } from '../../util/async.ts';
import { MAX_SECONDS, type Sound, tooLong } from './read-audio.ts';
import { SAMPLE_RATE, WINDOW_SECONDS } from './whisper-model.ts';

/** `read`: the window is whole. */
export type Reading = 'reading' | 'read';

/** Between two reports of a long read. */
const REPORT_MS = 1000;
const WINDOW_SAMPLES = WINDOW_SECONDS * SAMPLE_RATE;

/** The next 30 s of a sound. Only the window and one piece of the sound are in memory. */
export class SampleWindow {
  /** Samples before the window. */
  position = 0;
  readonly #sound: Sound;
  readonly #onReading: (reading: Reading) => void;
  #samples = new Float32Array(0);
  #ended = false;
  #read = 0;
  #reportedAt = -Infinity;

  /** @param onReading called at intervals while the sound is read: its decoder may never answer */
  constructor(sound: Sound, onReading: (reading: Reading) => void) {
    this.#sound = sound;
    this.#onReading = onReading;
  }

  /** Seconds that have been read. */
  get seconds(): number {
    return this.#read / SAMPLE_RATE;
  }

  /** The window; shorter only at the end. */
  async fill(signal: AbortSignal): Promise<Float32Array> {
    const pieces = [this.#samples];
    let length = this.#samples.length;
    while (length < WINDOW_SAMPLES && !this.#ended) {
      const piece = await this.#next(signal);
      if (piece) pieces.push(piece);
      length += piece?.length ?? 0;
    }
    if (pieces.length > 1) this.#samples = joined(pieces, length);
    this.#reportedAt = -Infinity;
    this.#onReading('read');
    return this.#samples.subarray(0, WINDOW_SAMPLES);
  }

  async skip(samples: number, signal: AbortSignal): Promise<void> {
    let left = samples;
    for (;;) {
      const taken = Math.min(left, this.#samples.length);
      this.#samples = this.#samples.slice(taken);
      this.position += taken;
      left -= taken;
      if (left === 0 || this.#ended) return;
      const piece = await this.#next(signal);
      if (piece) this.#samples = piece;
    }
  }

  async #next(signal: AbortSignal): Promise<Float32Array<ArrayBuffer> | null> {
    const now = performance.now();
    if (now - this.#reportedAt >= REPORT_MS) {
      this.#reportedAt = now;
      this.#onReading('reading');
    }
    const { value, done } = await abortable(this.#sound.next(), signal);
    this.#ended = done === true;
    this.#read += value?.length ?? 0;
    if (this.seconds > MAX_SECONDS) throw tooLong();
    return value ?? null;
  }
}

function joined(pieces: readonly Float32Array[], length: number): Float32Array<ArrayBuffer> {
  const all = new Float32Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
