import { weightBytes, formatBytes } from '#catalog';
import type { AddedFormat, FoundModel, Engines } from '#engine-kit';
import { requestError } from '#base';
import type { ModelSource } from '#protocol';
import type { RepositoryRef } from '../sources/hub-source.ts';
import type { VariantFiles } from '../sources/variant-files.ts';

const SHOWN = 20;

/** A model in a repository of the model hub. */
export interface HubModel extends FoundModel {
  /** Commit in which the model was found. */
  revision: string;
  /** Total size of its files. */
  bytes: number;
}

/** The format of models that the user adds. */
export async function addedFormat(engines: Engines): Promise<AddedFormat> {
  for (const { added } of Object.values(engines)) if (added) return added();
  throw new TypeError('no engine takes the files of a model');
}

/** Lists a repository's models in this format, the smallest first. @throws ServiceError */
export async function listModels(
  source: RepositoryRef,
  variantFiles: Pick<VariantFiles, 'repository'>,
  { find, noun }: AddedFormat,
  signal: AbortSignal,
): Promise<HubModel[]> {
  const { revision, files, isEmbedding } = await variantFiles.repository(source, signal);
  const models = find(files, isEmbedding).map((model) => ({ ...model, revision, bytes: weightBytes(model) }));
  if (models.length > 0) return models.toSorted((a, b) => a.bytes - b.bytes);
  const message = `${source.repository} has no ${noun}. Use a repository that has one.`;
  throw requestError(400, message, 'unsupported_model', 'source');
}

/**
 * Chooses the model that `file` names: a path, or a unique part of a path, such as the quantization. If `file` is
 * null, the only model.
 * @throws ServiceError
 */
export function chooseModel(
  { repository, file }: Pick<Extract<ModelSource, { type: 'hub' }>, 'repository' | 'file'>,
  models: readonly HubModel[],
): HubModel {
  const isExactly = (model: HubModel): boolean =>
    model.file === file || model.files.some(({ name }) => name === file);
  const matching = models.filter(
    (model) => file === null || model.file.toLowerCase().includes(file.toLowerCase()) || isExactly(model),
  );
  const exact = matching.filter(isExactly);
  const [found, ...others] = exact.length > 0 ? exact : matching;
  if (found && others.length === 0) return found;
  const names = (found ? matching : models).map((model) => `${model.file} (${formatBytes(model.bytes)})`);
  const list = names.slice(0, SHOWN).join(', ');
  const what = found
    ? `${names.length} models${file === null ? '' : ` that ${file} may name`}`
    : `no model ${file ?? ''}`;
  const message = `${repository} has ${what}: ${list}. Name one of them as \`file\`.`;
  throw requestError(400, message, 'invalid_value', 'source');
}
