import type { Device } from '../../../src/engine-kit/device.ts';

/** A device with a GPU, of which nothing else is known that a choice could rest on. */
export const plainDevice = {
  gpu: { name: 'acme', fallback: false, features: [] },
  memoryGiB: null,
  cores: 4,
  saveData: false,
} satisfies Device;
