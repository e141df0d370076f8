export interface Part {
  /** Position in samples. */
  start: number;
  end: number;
}

/** Length of Whisper's window. */
const MAX_SECONDS = 30;
/** Start of the search for a pause. */
const MIN_SECONDS = 18;
const FRAME_SECONDS = 0.1;

/** Cuts sound into parts of up to 30 s, each at its quietest moment, so that few words are cut. */
export function cutAtPauses(samples: Float32Array, rate: number): Part[] {
  const parts: Part[] = [];
  let start = 0;
  while (samples.length - start > MAX_SECONDS * rate) {
    const end = quietest(samples, start + MIN_SECONDS * rate, start + MAX_SECONDS * rate, rate);
    parts.push({ start, end });
    start = end;
  }
  if (start < samples.length) parts.push({ start, end: samples.length });
  return parts;
}

/** The middle of the quietest three frames in a row. */
function quietest(samples: Float32Array, from: number, to: number, rate: number): number {
  const size = Math.round(FRAME_SECONDS * rate);
  const powers: number[] = [];
  for (let at = from; at + size <= to; at += size) {
    let power = 0;
    for (let index = at; index < at + size; index++) power += (samples[index] ?? 0) ** 2;
    powers.push(power);
  }
  let best = 1;
  let least = Infinity;
  for (let frame = 1; frame < powers.length - 1; frame++) {
    const power = (powers[frame - 1] ?? 0) + (powers[frame] ?? 0) + (powers[frame + 1] ?? 0);
    if (power < least) [best, least] = [frame, power];
  }
  return from + best * size + Math.floor(size / 2);
}
