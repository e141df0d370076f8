import { z } from '#base/full-zod';

import type { Backend, Engine, Device } from '#engine-kit';
import { weightBytes, type Variant } from '#catalog';
import type { DeviceLimits } from '#protocol';
import { delay } from '#base';
import { cosine as dot } from '#jobs';
import { embedTexts } from './decisions/similarity-decisions.ts';
import type { WeightStore } from '#weights';

/** Texts of different lengths, so that the result reflects both launch cost and throughput. */
const TEXTS = [
  'A lamp.',
  'The weather is lovely today.',
  'A boat lay at the quay while the fog came in over the water, and nobody on board had seen the harbour pilot since noon.',
  'Every text is turned into a vector, and texts that mean alike lie close to each other. '.repeat(2),
];

/** Minimum similarity of the vectors. Devices differ in rounding; a wrong kernel gives completely different numbers. */
const MIN_COSINE = 0.99;
/** Minimum time limit for the GPU's first run, which compiles shaders. A run that exceeds the limit is not repeated. */
const MIN_TIMEOUT_MS = 5000;
const MAX_RATIO = 20;
/** Maximum share of WASM's time that the GPU may take. Switching costs a load, so the gain must be clear. */
const MAX_SHARE = 0.8;

export const probeResultSchema = z.object({
  backend: z.enum(['wasm', 'webgpu']),
  wasmMs: z.number(),
  gpuMs: z.number(),
  /** Lowest cosine similarity of the two backends' vectors. */
  cosine: z.number(),
});
export type ProbeResult = z.output<typeof probeResultSchema>;

interface Run {
  ms: number;
  vectors: Float32Array[];
}

/** Times both backends on the same texts, after a warm-up run each, and compares their vectors. */
async function probe(
  wasm: Engine<'embedding'>,
  gpu: Engine<'embedding'>,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const onWasm = await time(wasm, Number.POSITIVE_INFINITY, signal);
  const onGpu = await time(gpu, Math.max(MIN_TIMEOUT_MS, MAX_RATIO * onWasm.ms), signal);
  const cosine = Math.min(...onWasm.vectors.map((vector, index) => agreement(vector, onGpu.vectors[index])));
  const better = cosine >= MIN_COSINE && onGpu.ms < onWasm.ms * MAX_SHARE;
  return { backend: better ? 'webgpu' : 'wasm', wasmMs: onWasm.ms, gpuMs: onGpu.ms, cosine };
}

/** Describes a result as a phrase that follows the reason for a variant. */
function describe({ backend, wasmMs, gpuMs, cosine }: ProbeResult): string {
  const figures = `${Math.round(wasmMs)} ms on WASM, ${Math.round(gpuMs)} ms on the GPU, cosine ${cosine.toFixed(4)}`;
  if (cosine < MIN_COSINE) return `on WASM, as the GPU computes other numbers (measured: ${figures})`;
  return `on ${backend === 'wasm' ? 'WASM' : 'the GPU'}, the faster of the two (measured: ${figures})`;
}

/** Returns the faster of two runs after a warm-up run, or the warm-up run if it exceeds `timeoutMs`. */
async function time(engine: Engine<'embedding'>, timeoutMs: number, signal: AbortSignal): Promise<Run> {
  const warmUp = await runOnce(engine, signal);
  if (warmUp.ms > timeoutMs) return warmUp;
  const [first, second] = [await runOnce(engine, signal), await runOnce(engine, signal)];
  return second.ms < first.ms ? second : first;
}

async function runOnce(engine: Engine<'embedding'>, signal: AbortSignal): Promise<Run> {
  const start = performance.now();
  const { vectors } = await embedTexts(engine, { model: '' }, TEXTS, signal);
  return { ms: performance.now() - start, vectors };
}

/** Computes the cosine of two normalised vectors. NaN, as from a broken kernel, counts as no agreement. */
function agreement(a: Float32Array, b: Float32Array | undefined): number {
  const similarity = dot(a, b);
  return Number.isNaN(similarity) ? -1 : similarity;
}

type LoadEmbedder = (backend: Backend, signal: AbortSignal) => Promise<Engine<'embedding'>>;

export interface BenchmarkOptions {
  device: Promise<Device>;
  store: () => Promise<Pick<WeightStore, 'notes'>>;
  /** Descriptions of results by variant, shown with the reasons for its selection. */
  notes: Map<string, string>;
  which: NonNullable<DeviceLimits['probe']>;
  /** Version of the browser and the packages. Results of other versions are ignored. */
  version: string;
  /** Whether any request runs. */
  busy(): boolean;
  /** Called with a new result: the variant should run on `result.backend` from now on. */
  onResult(variant: Variant, result: ProbeResult): void;
}

/** How long the worker must have been idle before a measurement. */
const IDLE_MS = 3000;
/** Number of checks per idle period. */
const POLLS = 6;
/** Time limit for the whole measurement. A GPU that exceeds it is not faster. */
const MAX_MS = 120_000;

/** Maximum size of a model's weights, which are in memory twice during the measurement. */
const MAX_BYTES = 2 ** 30;

/** Measures, once per device and model and while idle, whether a GPU is faster than WASM and correct. */
export class BackendBenchmark {
  readonly #options: BenchmarkOptions;
  readonly #results = new Map<string, ProbeResult>();
  readonly #tried = new Set<string>();
  readonly #disabled = new Set<string>();

  constructor(options: BenchmarkOptions) {
    this.#options = options;
  }

  /** Resolves to the faster backend if it was measured, or else to WASM. */
  async backend(variant: Variant): Promise<Backend> {
    if (this.#disabled.has(variant.name)) return 'wasm';
    const result = this.#results.get(variant.name) ?? (await this.#kept(variant));
    if (!result || (result.backend === 'webgpu' && !(await this.#options.device).gpu)) return 'wasm';
    this.#know(variant, result);
    return result.backend;
  }

  /**
   * Measures a loaded variant once the worker is idle, unless it was measured before.
   * @param load loads a second engine beside the active one
   */
  async maybeRun(variant: Variant, engine: Engine<'embedding'>, load: LoadEmbedder): Promise<void> {
    const { name } = variant;
    if (this.#results.has(name) || this.#tried.has(name)) return;
    this.#tried.add(name);
    const { which, onResult, store } = this.#options;
    const { gpu } = await this.#options.device;
    if (!gpu || which === 'off') return;
    const note = (text: string) => void this.#options.notes.set(name, text);
    if (gpu.fallback && which !== 'any-gpu') return note('on WASM, as WebGPU runs in software here');
    if (weightBytes(variant) > MAX_BYTES)
      return note('on WASM: it is too large to be in memory twice, to be measured on the GPU');
    const signal = AbortSignal.timeout(MAX_MS + 10 * 60_000);
    await this.#idle(signal);
    const other = await load('webgpu', signal);
    try {
      const result = await this.#measure(engine, other, signal);
      const { notes } = await store();
      await notes.keepNote(noteName(name), JSON.stringify({ key: await this.#key(), result }));
      this.#know(variant, result);
      onResult(variant, result);
    } finally {
      await other.unload();
    }
  }

  /** Runs the measurement. A request aborts it; it restarts once the worker is idle. */
  async #measure(
    wasm: Engine<'embedding'>,
    gpu: Engine<'embedding'>,
    signal: AbortSignal,
  ): Promise<ProbeResult> {
    for (;;) {
      const interrupted = new AbortController();
      const busyCheck = setInterval(() => {
        if (this.#options.busy()) interrupted.abort(new Error('a request came'));
      }, IDLE_MS / POLLS);
      const ends = AbortSignal.any([signal, interrupted.signal, AbortSignal.timeout(MAX_MS)]);
      try {
        return await probe(wasm, gpu, ends);
      } catch (error) {
        if (!interrupted.signal.aborted) throw error;
      } finally {
        clearInterval(busyCheck);
      }
      await this.#idle(signal);
    }
  }

  /** Uses WASM until this worker ends, because the GPU that was faster has failed. */
  disable({ name }: Pick<Variant, 'name'>): void {
    if (this.#results.get(name)?.backend !== 'webgpu') return;
    this.#tried.add(name);
    this.#results.delete(name);
    this.#disabled.add(name);
    this.#options.notes.set(name, 'on WASM, as the GPU that was faster once has failed');
  }

  #know({ name }: Variant, result: ProbeResult): void {
    this.#results.set(name, result);
    this.#options.notes.set(name, describe(result));
  }

  async #kept({ name }: Variant): Promise<ProbeResult | null> {
    try {
      const note = await (await this.#options.store()).notes.note(noteName(name));
      const { key, result } = note as { key?: unknown; result?: unknown };
      return key === (await this.#key()) ? probeResultSchema.parse(result) : null;
    } catch {
      return null;
    }
  }

  async #key(): Promise<string> {
    const { gpu } = await this.#options.device;
    return `${this.#options.version} ${gpu?.name ?? ''}`;
  }

  async #idle(signal: AbortSignal): Promise<void> {
    for (let since = performance.now(); performance.now() - since < IDLE_MS;) {
      await delay(IDLE_MS / POLLS, signal);
      if (this.#options.busy()) since = performance.now();
    }
  }
}

const noteName = (variant: string): string => `probe-${variant.replaceAll(/[^\w.-]/g, '_')}`;
