import { shortened } from '../body/schema-issues.ts';
import type { Admitted, ModelDirectory, ModelEntry } from '../service-dependencies.ts';
import { requestError, type ServiceError } from '../service-error.ts';

/** @throws ServiceError 404 for a model that there is not, that this key may not use, or of the other kind. */
export async function requireModel(
  directory: ModelDirectory,
  id: string,
  kind: ModelEntry['kind'],
  admitted: Admitted,
): Promise<ModelEntry> {
  const model = await directory.find(id);
  if (model?.kind === kind && mayUse(admitted, model, id)) return model;
  const usable = (await directory.list()).filter((entry) => entry.kind === kind && mayUse(admitted, entry));
  const choice = `Models for this: ${usable.map((entry) => entry.id).join(', ') || 'none'}.`;
  if (model && model.kind !== kind) {
    const other = model.kind === 'chat' ? 'a chat model' : 'an embedding model';
    throw modelNotFound(
      `\`model\` ${JSON.stringify(shortened(id, 80))} is ${other} and cannot be used here. ${choice}`,
    );
  }
  throw noSuchModel(id, choice);
}

export function noSuchModel(id: string, hint: string): ServiceError {
  return modelNotFound(
    `The model ${JSON.stringify(shortened(id, 80))} does not exist, or this key may not use it. ${hint}`,
  );
}

export const mayUse = ({ models }: Admitted, entry: ModelEntry, id = entry.id): boolean =>
  models === null || models.includes(entry.id) || models.includes(id);

const modelNotFound = (message: string): ServiceError =>
  requestError(404, message, 'model_not_found', 'model');
