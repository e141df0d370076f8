import { z } from 'zod';
import type { EmbeddingEngine } from './engine.ts';

/** Short and long, so that neither launch costs nor arithmetic alone decide. */
const TEXTS = [
  'A lamp.',
  'The weather is lovely today.',
  'A boat lay at the quay while the fog came in over the water, and nobody on board had seen the harbour pilot since noon.',
  'Every text is turned into a vector, and texts that mean alike lie close to each other. '.repeat(2),
];
const ROUNDS = 2;
/** Rounding differs from device to device; a wrong kernel gives other vectors altogether. */
const AGREEMENT = 0.99;
/** A first run, with its shaders to compile, may take longer; one that takes this long is not run again. */
const HOPELESS_MS = 5000;
const HOPELESS = 20;
/** A switch costs a load: only a clear gain is worth it. */
const GAIN = 0.8;

export const probeResultSchema = z.object({
  device: z.enum(['wasm', 'webgpu']),
  wasmMs: z.number(),
  gpuMs: z.number(),
  /** Of the text on which they agree least. */
  cosine: z.number(),
});
export type ProbeResult = z.output<typeof probeResultSchema>;

/** Times both on the same texts, after one run each to warm up, and compares their vectors. */
export async function probe(
  wasm: EmbeddingEngine,
  gpu: EmbeddingEngine,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const onWasm = await time(wasm, signal);
  const onGpu = await time(gpu, signal, Math.max(HOPELESS_MS, HOPELESS * onWasm.ms));
  const cosines = onWasm.vectors.map((vector, index) => dot(vector, onGpu.vectors[index]));
  const cosine = Math.min(...cosines);
  const better = cosine >= AGREEMENT && onGpu.ms < onWasm.ms * GAIN;
  return { device: better ? 'webgpu' : 'wasm', wasmMs: onWasm.ms, gpuMs: onGpu.ms, cosine };
}

/** In words that follow the reason for a variant. */
export function inWords({ device, wasmMs, gpuMs, cosine }: ProbeResult): string {
  const figures = `${Math.round(wasmMs)} ms on WASM, ${Math.round(gpuMs)} ms on the GPU, cosine ${cosine.toFixed(4)}`;
  if (cosine < AGREEMENT) return `on WASM, as the GPU computes other vectors (measured: ${figures})`;
  return `on ${device === 'wasm' ? 'WASM' : 'the GPU'}, the faster of the two (measured: ${figures})`;
}

async function time(
  engine: EmbeddingEngine,
  signal: AbortSignal,
  hopelessMs = Number.POSITIVE_INFINITY,
): Promise<{ ms: number; vectors: Float32Array[] }> {
  const run = async () => {
    const start = performance.now();
    const { vectors } = await engine.embed({ kind: 'embedding', model: '', input: { texts: TEXTS } }, signal);
    return { ms: performance.now() - start, vectors };
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

/** Of normalised vectors: their cosine. NaN, as of a broken kernel, agrees with nothing. */
function dot(a: Float32Array, b: Float32Array | undefined): number {
  let sum = 0;
  for (const [index, value] of a.entries()) sum += value * (b?.[index] ?? 0);
  return Number.isNaN(sum) ? -1 : sum;
}
