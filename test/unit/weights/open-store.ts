import type { WeightFile } from '../../../src/catalog/catalog.ts';
import { hashBlob } from '../../../src/weights/integrity/integrity-record.ts';
import { WeightStore } from '../../../src/weights/weight-store.ts';
import type { StorageBackend } from '../../../src/weights/backends/storage-backend.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

/** A store in a worker without others: its locks are its own. */
export const openStore = (
  backend: StorageBackend,
  modelsUrl: string,
  { manager }: Pick<FakeLocks, 'manager'> = new FakeLocks(),
  scope = '/',
): WeightStore => new WeightStore(backend, modelsUrl, manager, scope);

/** Stores a file as one that the user brings. */
export async function bring(store: WeightStore, file: WeightFile, blob: Blob): Promise<void> {
  const { chunks } = await hashBlob(blob);
  await store.put(file, chunks, blob, { signal: new AbortController().signal });
}
