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
export function createResampler(rate: number) {
  const step = rate / SAMPLE_RATE;
  const cutoff = Math.min(1, SAMPLE_RATE / rate);
  /** Width of the filter on each side, in input samples. */
  const reach = Math.ceil(CROSSINGS / cutoff);
  /** Input that the next outputs depend on. Starts with `reach` zeros. */
  let kept = new Float32Array(reach);
  /** Position of the next output sample in `kept`. */
  let due = reach;

  function sample(samples: Float32Array, at: number): number {
    let sum = 0;
    const last = Math.min(samples.length - 1, Math.floor(at + reach));
    for (let from = Math.max(0, Math.ceil(at - reach)); from <= last; from++) {
      const place = Math.round(Math.abs(from - at) * cutoff * RESOLUTION);
      sum += (samples[from] ?? 0) * (FILTER[place] ?? 0);
    }
    return sum * cutoff;
  }

  function push(piece: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
    if (step === 1) return piece;
    const all = new Float32Array(kept.length + piece.length);
    all.set(kept);
    all.set(piece, kept.length);
    const count = Math.max(0, Math.floor((all.length - 1 - reach - due) / step) + 1);
    const result = new Float32Array(count);
    for (let index = 0; index < count; index++) result[index] = sample(all, due + index * step);
    const next = due + count * step;
    const from = Math.max(0, Math.floor(next) - reach);
    kept = all.slice(from);
    due = next - from;
    return result;
  }

  return {
    /** Sample rate of the input. */
    rate,
    push,
    /** Returns the samples that the filter still holds back. */
    end: () => push(new Float32Array(step === 1 ? 0 : reach)),
  };
}
