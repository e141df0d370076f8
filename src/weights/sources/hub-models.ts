import { formatBytes } from '../../catalog/device-fit.ts';
import { badRequest } from '../../protocol/engine-error.ts';
import type { HubModel, ModelSource, RemoteFile } from '../../protocol/weights-messages.ts';
import { commitOf, readTree } from './hub-source.ts';

const REPOSITORY = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;
/** A branch, a tag or a commit. */
const REVISION = /^[\w.-]{1,100}$/;
/** An image or audio part, which belongs to a model and is none. */
const PROJECTOR = /mmproj/i;
const SHOWN = 20;

export type HubModelSource = Extract<ModelSource, { type: 'hub' }>;

/** The GGUF models of a repository, the smallest first, at the commit that its revision has now. @throws EngineError */
export async function listGgufModels(
  { repository, revision: wanted }: Pick<HubModelSource, 'repository' | 'revision'>,
  endpoint: string,
  signal: AbortSignal,
): Promise<HubModel[]> {
  if (!REPOSITORY.test(repository) || repository.includes('..'))
    throw badRequest(
      `${JSON.stringify(repository)} is no repository. Use owner/name.`,
      'source',
      'invalid_value',
    );
  if (wanted !== null && !REVISION.test(wanted))
    throw badRequest(`${JSON.stringify(wanted)} is no revision.`, 'source', 'invalid_value');
  const named = { name: repository };
  const revision = await commitOf(named, { repository, revision: wanted ?? 'main' }, endpoint, signal);
  const tree = await readTree(named, { repository, revision }, endpoint, signal);
  const models = new Map<string, RemoteFile[]>();
  for (const { path, lfs } of tree) {
    if (!lfs || !/\.gguf$/i.test(path) || PROJECTOR.test(path)) continue;
    const url = `${endpoint}/${repository}/resolve/${revision}/${encodeURI(path)}`;
    const model = path.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '');
    models.set(model, [...(models.get(model) ?? []), { name: path, url, bytes: lfs.size, sha256: lfs.oid }]);
  }
  if (models.size === 0)
    throw badRequest(
      `${repository} has no GGUF file. Use a repository with GGUF files.`,
      'source',
      'invalid_value',
    );
  return [...models]
    .map(([file, files]) => ({ file, revision, bytes: sizeOf(files), files }))
    .toSorted((a, b) => a.bytes - b.bytes);
}

/**
 * The one model that `file` names: a path, or a part of one that only one model has, as its quantization; null: the only
 * model. @throws EngineError
 */
export function chooseHubModel({ repository, file }: HubModelSource, models: readonly HubModel[]): HubModel {
  const matching = models.filter((model) => matches(file, model));
  const exact = matching.filter((model) => isExactly(file, model));
  const [found, ...others] = exact.length > 0 ? exact : matching;
  if (found && others.length === 0) return found;
  const names = (found ? matching : models).map((model) => `${model.file} (${formatBytes(model.bytes)})`);
  const list = names.slice(0, SHOWN).join(', ');
  throw badRequest(
    `${repository} has ${found ? `${names.length} models that ${file ?? 'could be meant'} may name` : `no model ${file ?? ''}`}: ${list}. Name one of them as \`file\`.`,
    'source',
    'invalid_value',
  );
}

const isExactly = (file: string | null, model: HubModel): boolean =>
  model.file === file || model.files.some(({ name }) => name === file);

const matches = (file: string | null, model: HubModel): boolean =>
  file === null || model.file.toLowerCase().includes(file.toLowerCase()) || isExactly(file, model);

const sizeOf = (files: readonly RemoteFile[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);
