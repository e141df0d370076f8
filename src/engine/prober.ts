import type { TransformersVariant } from '../catalog/catalog.ts';
import type { DeviceLimits } from '../protocol/control.ts';
import { delay } from './abort.ts';
import type { Device } from './device/device.ts';
import type { EmbeddingEngine } from './engine.ts';
import { inWords, probe, probeResultSchema, type ProbeResult } from './probe.ts';
import type { WeightStore } from './weights/weight-store.ts';

type Backend = 'wasm' | 'webgpu';

export interface ProberOptions {
  device: Promise<Device>;
  store: Promise<Pick<WeightStore, 'note' | 'keepNote'>>;
  which: NonNullable<DeviceLimits['probe']>;
  /** Changes with the browser and with the packages: what was measured before it does not hold. */
  version: string;
  /** Loads a second engine beside the one that answers. */
  load(variant: TransformersVariant, backend: Backend, signal: AbortSignal): Promise<EmbeddingEngine>;
  /** Whether any request runs. */
  busy(): boolean;
  /** A result has come: the variant should run there from now on. */
  onResult(variant: TransformersVariant, result: ProbeResult): void;
}

/** The worker must have had nothing to do for so long. */
const IDLE_MS = 3000;
const LOOK_MS = 500;
/** A GPU that takes longer for all of it is no gain. */
const MOST_MS = 120_000;

/** Finds out, once per device and model and beside the work, whether a GPU embeds faster than WASM, and right. */
export class Prober {
  readonly #options: ProberOptions;
  readonly #results = new Map<string, ProbeResult>();
  readonly #remarks = new Map<string, string>();
  readonly #considered = new Set<string>();
  readonly #distrusted = new Set<string>();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Where a variant runs: as the catalog says, else as was measured, else on WASM. */
  async backend(variant: TransformersVariant): Promise<Backend> {
    if (variant.device) return variant.device;
    if (this.#distrusted.has(variant.name)) return 'wasm';
    const result = this.#results.get(variant.name) ?? (await this.#kept(variant));
    if (!result || (result.device === 'webgpu' && !(await this.#options.device).gpu)) return 'wasm';
    this.#know(variant, result);
    return result.device;
  }

  /** What has been found out of a variant, for the reasons of its choice. */
  remark(variant: string): string | undefined {
    return this.#remarks.get(variant);
  }

  /** Called when a variant has been loaded: measures it when that has not been done, and once nothing else runs. */
  async consider(variant: TransformersVariant, engine: EmbeddingEngine): Promise<void> {
    const { name } = variant;
    if (variant.device || this.#results.has(name) || this.#considered.has(name)) return;
    this.#considered.add(name);
    const { which, load, onResult, store } = this.#options;
    const { gpu } = await this.#options.device;
    if (!gpu || which === 'off') return;
    if (gpu.fallback && which !== 'any-gpu') {
      this.#remarks.set(name, 'on WASM, as WebGPU runs in software here');
      return;
    }
    const signal = AbortSignal.timeout(MOST_MS + 10 * 60_000);
    await this.#idle(signal);
    const other = await load(variant, 'webgpu', signal);
    try {
      const result = await probe(engine, other, AbortSignal.timeout(MOST_MS));
      await (await store).keepNote(noteName(name), JSON.stringify({ key: await this.#key(), result }));
      this.#know(variant, result);
      onResult(variant, result);
    } finally {
      await other.unload();
    }
  }

  /** A measured GPU has failed since: on WASM, until this worker ends. */
  distrust({ name }: TransformersVariant): void {
    this.#considered.add(name);
    this.#results.delete(name);
    this.#distrusted.add(name);
    this.#remarks.set(name, 'on WASM, as the GPU that was faster once failed to load it');
  }

  #know({ name }: TransformersVariant, result: ProbeResult): void {
    this.#results.set(name, result);
    this.#remarks.set(name, inWords(result));
  }

  async #kept({ name }: TransformersVariant): Promise<ProbeResult | null> {
    try {
      const note = JSON.parse((await (await this.#options.store).note(noteName(name))) ?? '') as {
        key?: unknown;
        result?: unknown;
      };
      return note.key === (await this.#key()) ? probeResultSchema.parse(note.result) : null;
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
      await delay(LOOK_MS, signal);
      if (this.#options.busy()) since = performance.now();
    }
  }
}

const noteName = (variant: string): string => `probe-${variant.replaceAll(/[^\w.-]/g, '_')}`;
