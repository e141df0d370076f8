import { withoutServers, type AddedModelRecord } from '#catalog';
import { readSetting, writeSetting } from '#database';
import { detectDevice, type Device, type Engines } from '#engine-kit';
import { createModels, LoadedModels, type ModelManager } from '#models';
import {
  PROTOCOL_VERSION,
  requestFiles,
  type EngineStatus,
  type PageServices,
  type WorkerOptions,
} from '#protocol';
import { createWeights } from '#weights';
import { keepAwake } from './requests/keep-awake.ts';
import type { Serving } from './requests/serve-port.ts';
import { StatusChannel } from './status-channel.ts';

export interface EnginePartsOptions extends WorkerOptions {
  engines: Engines;
  /** Models that the user added. */
  added: AddedModelRecord[];
  page: PageServices;
}

/** Composition root of an engine worker: its weights, its models, and the status of both. */
export function createEngineParts(options: EnginePartsOptions): Serving {
  const { epoch, scope, limits = {}, images, gpuAsked } = options;
  const { locks } = navigator;
  /** The device; undefined until it is detected. */
  let detected: Device | undefined;
  const device = detectDevice(undefined, gpuAsked);
  void device.then((found) => (detected = found));
  const loadedModels = new LoadedModels();
  const status = (): EngineStatus => {
    const { gpu, memoryGiB } = detected ?? { memoryGiB: null };
    return {
      epoch,
      deviceMemoryBytes: memoryGiB && memoryGiB * 2 ** 30,
      ...(gpu !== undefined && { gpu: gpu && !gpu.fallback ? gpu.name : null }),
      models: modelManager.status(),
    };
  };
  const channel = new StatusChannel(scope, status);
  const weights = createWeights({
    ...options,
    catalog: withoutServers(options.catalog),
    evict: limits.evict ?? false,
    users: loadedModels,
    device,
    chosen: (id) => modelManager.plan(id).then(() => modelManager.chosen(id)),
    read: async () => (await readSetting(scope, 'added-models')) ?? [],
    save: (records) => writeSetting(scope, locks, 'added-models', records),
    requestFiles: (ticket, signal) => requestFiles(scope, ticket, signal),
  });
  const modelManager: ModelManager = createModels({
    ...options,
    weights,
    loadedModels,
    device,
    // The URL changes with each build, as script names have a hash.
    build: `${PROTOCOL_VERSION} ${location.href} ${navigator.userAgent}`,
    saveFacts: (facts) => writeSetting(scope, locks, 'engine-facts', { epoch, models: facts }),
    onChange: () => channel.changed(),
  });
  return {
    epoch,
    scope,
    locks,
    imageOrigins: images?.origins ?? [],
    modelManager,
    weights,
    status,
    onRequest() {
      const release = keepAwake();
      if (channel.isWatched) channel.changed();
      return () => {
        release();
        if (channel.isWatched) channel.changed();
      };
    },
  };
}
