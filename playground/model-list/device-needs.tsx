import type { VariantEstimate } from '../../src/index.ts';
import { engineStatus } from '../client/localtext.ts';
import { bytes, duration } from '../format.ts';

/** `about 1.1 GB of 4.3 GB of memory; 3 min to download` */
export function DeviceNeeds({ memoryBytes, downloadBytes, downloadSeconds }: VariantEstimate) {
  const device = engineStatus.value?.deviceMemoryBytes ?? null;
  return (
    <>
      about {bytes(memoryBytes)}
      {device !== null && ` of ${bytes(device)}`} of memory
      {downloadBytes > 0 &&
        downloadSeconds !== undefined &&
        `; ${duration(downloadSeconds * 1000)} to download`}
    </>
  );
}
