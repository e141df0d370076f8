import { withoutServers, type AddedModelRecord } from '#catalog';
import { readAddedModels, writeAddedModels, storeFacts } from '#database';
import { detectDevice, type Device, type Engines } from '#engine-kit';
import { createModels, LoadedModels, type ModelManager } from '#models';
import {
  PROTOCOL_VERSION,
  requestFiles,
  type EngineStatus,
  type PageServices,
  type WorkerOptions,
} from '#protocol';
import { createWeights, type Weights } from '#weights';
import { KeepAlive, type Serving } from './requests/serve-port.ts';
import { StatusChannel } from './status-channel.ts';

export interface EnginePartsOptions extends WorkerOptions {
  engines: Engines;
  /** Models that the user added. */
  added: AddedModelRecord[];
  page: PageServices;
}

/** Composition root of an engine worker: its weights, its models, and the status of both. */
export class EngineParts implements Serving {
  readonly epoch: string;
  readonly scope: string;
  readonly imageOrigins: readonly string[];
  readonly locks = navigator.locks;
  readonly modelManager: ModelManager;
  readonly weights: Weights;
  /** The device; undefined until it is detected. */
  #device: Device | undefined;
  readonly #channel: StatusChannel;
  readonly #keepAlive = new KeepAlive();

  constructor(options: EnginePartsOptions) {
    const { epoch, scope, limits = {}, images, gpuAsked } = options;
    const device = detectDevice(undefined, gpuAsked);
    void device.then((detected) => (this.#device = detected));
    this.epoch = epoch;
    this.scope = scope;
    this.imageOrigins = images?.origins ?? [];
    this.#channel = new StatusChannel(scope, () => this.status());
    const loadedModels = new LoadedModels();
    this.weights = createWeights({
      ...options,
      catalog: withoutServers(options.catalog),
      evict: limits.evict ?? false,
      users: loadedModels,
      device,
      chosen: (id) => this.modelManager.chosen(id),
      read: () => readAddedModels(scope),
      save: (records) => writeAddedModels(scope, this.locks, records),
      requestFiles: (ticket, signal) => requestFiles(scope, ticket, signal),
    });
    this.modelManager = createModels({
      ...options,
      weights: this.weights,
      loadedModels,
      device,
      // The URL changes with each build, as script names have a hash.
      build: `${PROTOCOL_VERSION} ${location.href} ${navigator.userAgent}`,
      saveFacts: (facts) => storeFacts(scope, this.locks, { epoch, models: facts }),
      onChange: () => this.#channel.changed(),
    });
  }

  status(): EngineStatus {
    const { gpu, memoryGiB } = this.#device ?? { memoryGiB: null };
    return {
      epoch: this.epoch,
      deviceMemoryBytes: memoryGiB && memoryGiB * 2 ** 30,
      ...(gpu !== undefined && { gpu: gpu && !gpu.fallback ? gpu.name : null }),
      models: this.modelManager.status(),
    };
  }

  onRequest(): () => void {
    const release = this.#keepAlive.hold();
    if (this.#channel.isWatched) this.#channel.changed();
    return () => {
      release();
      if (this.#channel.isWatched) this.#channel.changed();
    };
  }
}
