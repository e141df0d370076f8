/** The loudest sample of each of `count` equal parts, 0 to 1, for a waveform. */
export function peaks(samples: Float32Array, count: number): number[] {
  return Array.from({ length: count }, (_, part) => {
    const end = Math.floor(((part + 1) * samples.length) / count);
    let loudest = 0;
    for (let at = Math.floor((part * samples.length) / count); at < end; at++) {
      loudest = Math.max(loudest, Math.abs(samples[at] ?? 0));
    }
    return Math.min(1, loudest);
  });
}

/** An SVG path of upright lines around y = 0, one unit apart and 2 high at most, of the peaks from `from` to `to`. */
export const waveformPath = (heights: readonly number[], from: number, to: number): string =>
  heights
    .slice(from, to)
    .map((each, at) => {
      // Silence is a dot.
      const half = Math.max(0.03, each).toFixed(2);
      return `M${from + at + 0.5} -${half}V${half}`;
    })
    .join('');
