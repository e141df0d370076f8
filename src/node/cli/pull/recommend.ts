import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';

import { estimateMemory, type Catalog, type Variant } from '#catalog';

export interface Machine {
  /** Whether a browser here probably has WebGPU. */
  gpu: boolean;
  memoryBytes: number;
  cores: number;
}

/**
 * A page gets a part of the machine's memory: a model that needs more than a quarter of it is not
 * recommended.
 */
const MEMORY_SHARE = 4;
/** Maximum recommended download. Larger models must be requested by name. */
const MAX_BYTES = 1.3e9;

/** The largest chat model that pages on this machine would choose, of those the hub has; null: none. */
export function recommend(catalog: Catalog, machine: Machine): Variant | null {
  const variants = catalog.models.filter(({ kind }) => kind === 'chat').flatMap((model) => model.variants);
  const fitting = variants.filter((variant) => {
    const { hub, needs: { webgpu = false, cores = 1 } = {} } = variant;
    return (
      hub !== undefined &&
      hub.approximateBytes <= MAX_BYTES &&
      (machine.gpu || !webgpu) &&
      cores <= machine.cores &&
      estimateMemory(variant).memoryBytes * MEMORY_SHARE <= machine.memoryBytes
    );
  });
  // A model on the GPU writes several times as fast as one of its size on the CPU.
  const rank = ({ needs, hub }: Variant): number => (needs?.webgpu ? 1e12 : 0) + (hub?.approximateBytes ?? 0);
  return fitting.filter(isHalf).toSorted((a, b) => rank(b) - rank(a))[0] ?? null;
}

/** Whether a GPU build uses half floats, which most GPUs can run and which take less memory. */
const isHalf = ({ needs }: Variant): boolean =>
  !needs?.webgpu || (needs.features?.includes('shader-f16') ?? false);

export const thisMachine = (): Machine => ({
  gpu: hasGpu(),
  memoryBytes: totalmem(),
  cores: availableParallelism(),
});

/**
 * Guesses whether there is a GPU: only a browser knows. Linux lists GPUs as devices; other systems usually
 * have one.
 */
function hasGpu(): boolean {
  if (process.platform !== 'linux') return true;
  return existsSync('/dev/dri') && readdirSync('/dev/dri').some((name) => name.startsWith('renderD'));
}
