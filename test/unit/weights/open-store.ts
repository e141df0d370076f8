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
