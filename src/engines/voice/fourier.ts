/** Transforms real and imaginary parts in turn. @param to receives the result in the same form */
type Transform = (from: Float64Array, to: Float64Array) => void;

/** Discrete Fourier transform of complex numbers, for lengths with small prime factors. */
export function fourierTransform(length: number): Transform {
  const cosines = Float64Array.from({ length }, (_, at) => Math.cos((2 * Math.PI * at) / length));
  const sines = Float64Array.from({ length }, (_, at) => -Math.sin((2 * Math.PI * at) / length));
  const radices: number[] = [];
  let rest = length;
  for (const radix of [4, 2, 3, 5]) for (; rest % radix === 0; rest /= radix) radices.push(radix);
  if (rest !== 1) throw new RangeError(`no factors of ${length} for a Fourier transform`);

  /** Transforms every `stride`-th number: splits them by the radix, transforms the parts, and combines these. */
  function transformPart(
    from: Float64Array,
    start: number,
    stride: number,
    to: Float64Array,
    at: number,
    depth: number,
  ): void {
    const radix = radices[depth];
    if (radix === undefined) {
      to[2 * at] = from[2 * start] ?? 0;
      to[2 * at + 1] = from[2 * start + 1] ?? 0;
      return;
    }
    const count = length / stride / radix;
    for (let q = 0; q < radix; q++)
      transformPart(from, start + q * stride, stride * radix, to, at + q * count, depth + 1);
    const parts = new Float64Array(2 * radix);
    for (let k = 0; k < count; k++) {
      for (let q = 0; q < radix; q++) {
        parts[2 * q] = to[2 * (at + q * count + k)] ?? 0;
        parts[2 * q + 1] = to[2 * (at + q * count + k) + 1] ?? 0;
      }
      for (let p = 0; p < radix; p++) {
        let real = 0;
        let imaginary = 0;
        for (let q = 0; q < radix; q++) {
          const turn = (q * (k + count * p) * stride) % length;
          const cos = cosines[turn] ?? 0;
          const sin = sines[turn] ?? 0;
          const x = parts[2 * q] ?? 0;
          const y = parts[2 * q + 1] ?? 0;
          real += x * cos - y * sin;
          imaginary += x * sin + y * cos;
        }
        to[2 * (at + p * count + k)] = real;
        to[2 * (at + p * count + k) + 1] = imaginary;
      }
    }
  }

  return (from, to) => transformPart(from, 0, 1, to, 0, 0);
}
