import { bytes } from '../format.ts';
import type { DeviceFacts, GpuFacts } from '../client/find-device.ts';

export interface Meaning {
  good: boolean;
  title: string;
  text: string;
}

/** Explains what the device's facts mean for models. */
export function meaning(facts: DeviceFacts): Meaning[] {
  return [gpuMeaning(facts.gpu), threads(facts), room(facts)];
}

function gpuMeaning(gpu: GpuFacts | null): Meaning {
  if (!gpu) {
    return {
      good: false,
      title: 'No WebGPU',
      text: 'Models run on the processor. Small ones are fine; a browser or driver with WebGPU would be faster.',
    };
  }
  if (gpu.fallback) {
    return {
      good: false,
      title: 'A GPU in software',
      text: 'WebGPU works, but the processor emulates the GPU: running on the processor directly is faster.',
    };
  }
  return {
    good: true,
    title: gpu.f16 ? 'A GPU, with 16-bit floats' : 'A GPU, 32-bit floats only',
    text: gpu.f16
      ? 'Weights of half the size can be used where the catalog has them.'
      : 'Only variants that need no 16-bit floats can be used: they take more memory.',
  };
}

function threads({ isolated, sharedMemory, cores }: DeviceFacts): Meaning {
  if (isolated && sharedMemory) {
    return {
      good: true,
      title: 'Threads',
      text: `The page is cross-origin isolated: WebAssembly may use several of the ${cores} cores.`,
    };
  }
  return {
    good: false,
    title: 'One thread',
    text: isolated
      ? 'This browser has no SharedArrayBuffer, so WebAssembly has one thread. Another browser may be faster.'
      : 'The page is not cross-origin isolated, so WebAssembly has one thread. Reload it; if that does not help, headers of the server (COOP, COEP) prevent isolation.',
  };
}

function room({ storage }: DeviceFacts): Meaning {
  if (!storage) {
    return {
      good: false,
      title: 'Storage unknown',
      text: 'This browser does not report how much it can store.',
    };
  }
  const free = storage.quotaBytes - storage.usedBytes;
  return {
    good: storage.persisted,
    title: storage.persisted ? 'Storage that is kept' : 'Storage that may be cleared',
    text: `${bytes(free)} are free for weights. ${
      storage.persisted
        ? 'The browser has promised to keep them.'
        : 'The browser may clear them when the disk runs short: ask it to keep them under Models.'
    }`,
  };
}
