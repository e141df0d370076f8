import { z } from 'zod';
import type { EmbeddingEngine } from '../runtimes/engine.ts';

/** Short and long, so that neither launch costs nor arithmetic alone decide. */
const TEXTS = [
  'A lamp.',
  'The weather is lovely today.',
  'A boat lay at the quay while the fog came in over the water, and nobody on board had seen the harbour pilot since noon.',
  'Every text is turned into a vector, and texts that mean alike lie close to each other. '.repeat(2),
];

const ROUNDS = 2;
/** Rounding differs from device to device; a wrong kernel gives completely different numbers. */
const MIN_COSINE = 0.99;
/** A first run, with its shaders to compile, may take longer; one that takes this long is not run again. */
const MIN_TIMEOUT_MS = 5000;
const MAX_RATIO = 20;
/** A switch costs a load: only a clear gain is worth it. */
const MAX_SHARE = 0.8;

export const probeResultSchema = z.object({
  device: z.enum(['wasm', 'webgpu']),
  wasmMs: z.number(),
  gpuMs: z.number(),
  /** Of the text on which they agree least. */
  cosine: z.number(),
});
export type ProbeResult = z.output<typeof probeResultSchema>;

interface Run {
  ms: number;
  vectors: Float32Array[];
}

/** Times both on the same texts, after one run each to warm up, and compares their vectors. */
export async function probe(
  wasm: EmbeddingEngine,
  gpu: EmbeddingEngine,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const onWasm = await time(wasm, Number.POSITIVE_INFINITY, signal);
  const onGpu = await time(gpu, Math.max(MIN_TIMEOUT_MS, MAX_RATIO * onWasm.ms), signal);
  const cosine = Math.min(...onWasm.vectors.map((vector, index) => dot(vector, onGpu.vectors[index])));
  const better = cosine >= MIN_COSINE && onGpu.ms < onWasm.ms * MAX_SHARE;
  return { device: better ? 'webgpu' : 'wasm', wasmMs: onWasm.ms, gpuMs: onGpu.ms, cosine };
}

/** As a phrase that follows the reason for a variant. */
export function describe({ device, wasmMs, gpuMs, cosine }: ProbeResult): string {
  const figures = `${Math.round(wasmMs)} ms on WASM, ${Math.round(gpuMs)} ms on the GPU, cosine ${cosine.toFixed(4)}`;
  if (cosine < MIN_COSINE) return `on WASM, as the GPU computes other numbers (measured: ${figures})`;
  return `on ${device === 'wasm' ? 'WASM' : 'the GPU'}, the faster of the two (measured: ${figures})`;
}

/** The best of the rounds after the first; the first alone if it takes longer than `timeoutMs`. */
async function time(engine: EmbeddingEngine, timeoutMs: number, signal: AbortSignal): Promise<Run> {
  const warmUp = await runOnce(engine, signal);
  if (warmUp.ms > timeoutMs) return warmUp;
  let best = await runOnce(engine, signal);
  for (let round = 1; round < ROUNDS; round++) {
    const next = await runOnce(engine, signal);
    if (next.ms < best.ms) best = next;
  }
  return best;
}

async function runOnce(engine: EmbeddingEngine, signal: AbortSignal): Promise<Run> {
  const start = performance.now();
  const { vectors } = await engine.embed({ kind: 'embedding', model: '', input: { texts: TEXTS } }, signal);
  return { ms: performance.now() - start, vectors };
}

/** Of normalised vectors: their cosine. NaN, as from a broken kernel, counts as no agreement. */
function dot(a: Float32Array, b: Float32Array | undefined): number {
  let sum = 0;
  for (const [index, value] of a.entries()) sum += value * (b?.[index] ?? 0);
  return Number.isNaN(sum) ? -1 : sum;
}
