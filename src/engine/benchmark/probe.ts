import { z } from 'zod';
import { chatTokens, leastCosineOfTexts, leastCosineOfTokens, textVectors } from './probe-tasks.ts';
import type { Engine } from '../engine.ts';

const ROUNDS = 2;
/** Rounding differs from device to device; a wrong kernel gives other numbers altogether. */
const AGREEMENT = 0.99;
/** A first run, with its shaders to compile, may take longer; one that takes this long is not run again. */
const MIN_TIMEOUT_MS = 5000;
const MAX_RATIO = 20;
/** A switch costs a load: only a clear gain is worth it. */
const GAIN = 0.8;

export const probeResultSchema = z.object({
  device: z.enum(['wasm', 'webgpu']),
  wasmMs: z.number(),
  gpuMs: z.number(),
  /** Of the text, or token, on which they agree least. */
  cosine: z.number(),
});
export type ProbeResult = z.output<typeof probeResultSchema>;

/** Times both on the same work, after one run each to warm up, and compares what they computed. */
export async function probe(wasm: Engine, gpu: Engine, signal: AbortSignal): Promise<ProbeResult> {
  if ('embed' in wasm && 'embed' in gpu) {
    const onWasm = () => textVectors(wasm, signal);
    return compare(onWasm, () => textVectors(gpu, signal), leastCosineOfTexts);
  }
  if ('generate' in wasm && 'generate' in gpu) {
    const onWasm = () => chatTokens(wasm, signal);
    return compare(onWasm, () => chatTokens(gpu, signal), leastCosineOfTokens);
  }
  throw new Error('a model that embeds cannot be compared with one that chats');
}

/** In words that follow the reason for a variant. */
export function describe({ device, wasmMs, gpuMs, cosine }: ProbeResult): string {
  const figures = `${Math.round(wasmMs)} ms on WASM, ${Math.round(gpuMs)} ms on the GPU, cosine ${cosine.toFixed(4)}`;
  if (cosine < AGREEMENT) return `on WASM, as the GPU computes other numbers (measured: ${figures})`;
  return `on ${device === 'wasm' ? 'WASM' : 'the GPU'}, the faster of the two (measured: ${figures})`;
}

async function compare<T>(
  wasm: () => Promise<T>,
  gpu: () => Promise<T>,
  leastCosine: (a: T, b: T) => number,
): Promise<ProbeResult> {
  const onWasm = await time(wasm);
  const onGpu = await time(gpu, Math.max(MIN_TIMEOUT_MS, MAX_RATIO * onWasm.ms));
  const cosine = leastCosine(onWasm.made, onGpu.made);
  const better = cosine >= AGREEMENT && onGpu.ms < onWasm.ms * GAIN;
  return { device: better ? 'webgpu' : 'wasm', wasmMs: onWasm.ms, gpuMs: onGpu.ms, cosine };
}

async function time<T>(
  work: () => Promise<T>,
  hopelessMs = Number.POSITIVE_INFINITY,
): Promise<{ ms: number; made: T }> {
  const run = async () => {
    const start = performance.now();
    const made = await work();
    return { ms: performance.now() - start, made };
  };
  const warmUp = await run();
  if (warmUp.ms > hopelessMs) return warmUp;
  let best = await run();
  for (let round = 1; round < ROUNDS; round++) {
    const next = await run();
    if (next.ms < best.ms) best = next;
  }
  return best;
}
