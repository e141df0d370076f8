import type { Device } from '../../../../src/engine/device/device.ts';

/** A device with a GPU, of which nothing else is known that a choice could rest on. */
export const plainDevice = {
  gpu: { name: 'acme', fallback: false, features: [], maxBufferSize: 1e9, maxStorageBufferBindingSize: 1e9 },
  memoryGiB: null,
  cores: 4,
  crossOriginIsolated: true,
  storage: null,
  saveData: false,
  battery: null,
} satisfies Device;
