import { fourierTransform } from './fourier.ts';

/** Sampling rate of the voices, in Hz. */
export const VOICE_RATE = 24_000;
const WINDOW = 1200;
const HOP = 300;
export const BINS = WINDOW / 2 + 1;
/** Frames below this pitch are unvoiced, in Hz. */
const MIN_PITCH = 40;
const MAX_HARMONIC = 11_000;

/** What a voice's network predicts for each frame of 12.5 ms. Each but `pitch`, which has the frames, is [bins, frames]. */
export interface Spectrum {
  /** Logarithm of the harmonics' magnitude, and their phase. */
  harmonic: Float32Array;
  harmonicPhase: Float32Array;
  /** Logarithm of the noise's magnitude. */
  noise: Float32Array;
  /** Logarithm of the rest's magnitude, and its phase. */
  rest: Float32Array;
  restPhase: Float32Array;
  /** In Hz. */
  pitch: Float32Array;
}

const hann = Float64Array.from(
  { length: WINDOW },
  (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / WINDOW),
);
const transform = fourierTransform(WINDOW);
const magnitude = (logarithm: number): number => Math.exp(Math.min(logarithm, 7));

/** A train of pulses that follows the pitch: all harmonics up to 11 kHz, as loud as each other. Silence where unvoiced. */
function pulses(pitch: Float32Array): Float64Array {
  const samples = new Float64Array(pitch.length * HOP);
  const pitchAt = (frame: number): number => pitch[Math.min(Math.max(frame, 0), pitch.length - 1)] ?? 0;
  let turns = 0;
  for (let at = 0; at < samples.length; at++) {
    const place = (at + 0.5) / HOP - 0.5;
    const frame = Math.floor(place);
    const share = place - frame;
    const here = pitchAt(frame) * (1 - share) + pitchAt(frame + 1) * share;
    const frequency = Math.max(here, MIN_PITCH);
    turns = (turns + frequency / VOICE_RATE) % 1;
    if (here <= MIN_PITCH) continue;
    const phase = 2 * Math.PI * turns;
    const harmonics = Math.floor(MAX_HARMONIC / frequency) + 0.5;
    const divisor = 2 * Math.sin(phase / 2);
    samples[at] = (Math.abs(divisor) <= 2e-3 ? harmonics : Math.sin(harmonics * phase) / divisor) - 0.5;
  }
  return samples;
}

/** Index inside an array that is mirrored at its ends. */
function mirrored(at: number, length: number): number {
  if (length === 1) return 0;
  const period = 2 * (length - 1);
  const place = ((at % period) + period) % period;
  return place < length ? place : period - place;
}

/** Writes the window of a sound around a frame, as complex numbers. */
function readWindow(sound: Float64Array, frame: number, window: Float64Array): void {
  window.fill(0);
  for (const [at, weight] of hann.entries()) {
    const place = mirrored(frame * HOP + at - WINDOW / 2, sound.length);
    window[2 * at] = ((sound[place] ?? 0) * weight) / (WINDOW / 4);
  }
}

/** Sets a bin, and its mirror image, so that the transform gives a real sound, the spectrum's inverse. */
function setBin(window: Float64Array, bin: number, real: number, imaginary: number): void {
  const isEdge = bin === 0 || bin === BINS - 1;
  window[2 * bin] = real;
  window[2 * bin + 1] = isEdge ? 0 : -imaginary;
  if (isEdge) return;
  window[2 * (WINDOW - bin)] = real;
  window[2 * (WINDOW - bin) + 1] = imaginary;
}

/** Writes a frame's spectrum: the source in the harmonics' colour, coloured noise, and the rest. */
function writeFrame(
  { pitch: { length: frames }, ...bins }: Spectrum,
  frame: number,
  source: Float64Array,
  normal: () => number,
  window: Float64Array,
): void {
  for (let bin = 0; bin < BINS; bin++) {
    const at = bin * frames + frame;
    const of = (values: Float32Array): number => values[at] ?? 0;
    const turn = Math.PI * Math.tanh(of(bins.harmonicPhase));
    const loud = magnitude(of(bins.harmonic));
    const hiss = magnitude(of(bins.noise));
    const left = magnitude(of(bins.rest));
    const x = source[2 * bin] ?? 0;
    const y = source[2 * bin + 1] ?? 0;
    const cos = Math.cos(turn) * loud;
    const sin = Math.sin(turn) * loud;
    const real = x * cos - y * sin + hiss * normal() + left * Math.cos(of(bins.restPhase));
    const imaginary = x * sin + y * cos + hiss * normal() + left * Math.sin(of(bins.restPhase));
    setBin(window, bin, real, imaginary);
  }
}

/** Turns a spectrum into sound. Samples are in [-1, 1]. */
export function toWaveform(spectrum: Spectrum, normal: () => number): Float32Array<ArrayBuffer> {
  const source = pulses(spectrum.pitch);
  const sum = new Float64Array(source.length + WINDOW);
  const weights = new Float64Array(source.length + WINDOW);
  const window = new Float64Array(2 * WINDOW);
  const transformed = new Float64Array(2 * WINDOW);
  for (let frame = 0; frame < spectrum.pitch.length; frame++) {
    readWindow(source, frame, window);
    transform(window, transformed);
    writeFrame(spectrum, frame, transformed, normal, window);
    transform(window, transformed);
    for (const [at, weight] of hann.entries()) {
      const place = frame * HOP + at;
      sum[place] = (sum[place] ?? 0) + ((transformed[2 * at] ?? 0) / WINDOW) * weight;
      weights[place] = (weights[place] ?? 0) + weight * weight;
    }
  }
  return Float32Array.from({ length: source.length }, (_, at) => {
    const value = (sum[at + WINDOW / 2] ?? 0) / Math.max(weights[at + WINDOW / 2] ?? 0, 1e-11);
    return Math.min(1, Math.max(-1, value));
  });
}

/** Normally distributed random numbers, the same ones for a seed. */
export function normalNumbers(seed: number): () => number {
  let state = seed >>> 0;
  // Mulberry32.
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}
