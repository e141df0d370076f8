import type { VariantEstimate } from '../../src/index.ts';
import { engineStatus } from '../client/localtext.ts';
import { bytes } from '../format.ts';

/** `about 1.1 GB of 4.3 GB of memory` */
export function DeviceNeeds({ memoryBytes }: Pick<VariantEstimate, 'memoryBytes'>) {
  const device = engineStatus.value?.deviceMemoryBytes ?? null;
  return (
    <>
      about {bytes(memoryBytes)}
      {device !== null && ` of ${bytes(device)}`} of memory
    </>
  );
}
