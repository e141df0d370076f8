/** Sample rate that speech models take. */
export const SAMPLE_RATE = 16_000;
/** Number of the filter's zero crossings on each side. */
const CROSSINGS = 12;
/** Number of the filter's values between two zero crossings. */
const RESOLUTION = 256;

/** Right half of a sinc with a Hann window. */
const FILTER = Float32Array.from({ length: CROSSINGS * RESOLUTION + 1 }, (_, at) => {
  const x = (Math.PI * at) / RESOLUTION;
  const hann = (1 + Math.cos(x / CROSSINGS)) / 2;
  return at === 0 ? 1 : (hann * Math.sin(x)) / x;
});

/** Converts sound, in pieces, to 16 kHz. A low-pass filter removes what that rate cannot represent. */
export class Resampler {
  /** Sample rate of the input. */
  readonly rate: number;
  readonly #step: number;
  /** Width of the filter on each side, in input samples. */
  readonly #reach: number;
  readonly #cutoff: number;
  /** Input that the next outputs depend on. Starts with `reach` zeros. */
  #kept: Float32Array;
  /** Position of the next output sample in `#kept`. */
  #at: number;

  constructor(rate: number) {
    this.rate = rate;
    this.#step = rate / SAMPLE_RATE;
    this.#cutoff = Math.min(1, SAMPLE_RATE / rate);
    this.#reach = Math.ceil(CROSSINGS / this.#cutoff);
    this.#kept = new Float32Array(this.#reach);
    this.#at = this.#reach;
  }

  push(piece: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
    if (this.#step === 1) return piece;
    const all = new Float32Array(this.#kept.length + piece.length);
    all.set(this.#kept);
    all.set(piece, this.#kept.length);
    const count = Math.max(0, Math.floor((all.length - 1 - this.#reach - this.#at) / this.#step) + 1);
    const result = new Float32Array(count);
    for (let index = 0; index < count; index++)
      result[index] = this.#sample(all, this.#at + index * this.#step);
    const next = this.#at + count * this.#step;
    const from = Math.max(0, Math.floor(next) - this.#reach);
    this.#kept = all.slice(from);
    this.#at = next - from;
    return result;
  }

  /** Returns the samples that the filter still holds back. */
  end(): Float32Array<ArrayBuffer> {
    return this.push(new Float32Array(this.#step === 1 ? 0 : this.#reach));
  }

  #sample(samples: Float32Array, at: number): number {
    let sum = 0;
    const last = Math.min(samples.length - 1, Math.floor(at + this.#reach));
    for (let from = Math.max(0, Math.ceil(at - this.#reach)); from <= last; from++) {
      const place = Math.round(Math.abs(from - at) * this.#cutoff * RESOLUTION);
      sum += (samples[from] ?? 0) * (FILTER[place] ?? 0);
    }
    return sum * this.#cutoff;
  }
}
