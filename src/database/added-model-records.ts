import type { AddedModelRecord } from '../catalog/added-models.ts';
import { withDatabase } from './database.ts';

const ADDED = 'added-models';

/** The models that the user added, the oldest first. */
export async function readAddedModels(scope: string): Promise<AddedModelRecord[]> {
  const stored = await withDatabase(scope, (database) => database.get('settings', ADDED));
  // Written by `writeAddedModels` alone.
  return (stored as AddedModelRecord[] | undefined) ?? [];
}

export async function writeAddedModels(scope: string, models: readonly AddedModelRecord[]): Promise<void> {
  await withDatabase(scope, (database) => database.put('settings', models, ADDED));
}
