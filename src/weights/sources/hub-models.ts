import { formatBytes } from '../../catalog/device-fit.ts';
import { badRequest } from '../../protocol/engine-error.ts';
import { commitOf, readTree } from './hub-source.ts';

/** A file whose place, size and hash are known. */
export interface RemoteFile {
  name: string;
  url: string;
  bytes: number;
  sha256: string;
}

const REPOSITORY = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;
/** An image or audio part, which belongs to a model and is none. */
const PROJECTOR = /mmproj/i;
const SHOWN = 20;

/**
 * The files of one GGUF model of a repository, at the commit that its main branch has now.
 * @param file a file's path, or a part of one that only one model has, as its quantization; null: the only model
 * @throws EngineError
 */
export async function listGgufModel(
  repository: string,
  file: string | null,
  endpoint: string,
  signal: AbortSignal,
): Promise<RemoteFile[]> {
  if (!REPOSITORY.test(repository) || repository.includes('..'))
    throw badRequest(
      `${JSON.stringify(repository)} is no repository. Use owner/name.`,
      'source',
      'invalid_value',
    );
  const named = { name: repository };
  const revision = await commitOf(named, { repository, revision: 'main' }, endpoint, signal);
  const tree = await readTree(named, { repository, revision }, endpoint, signal);
  const models = new Map<string, RemoteFile[]>();
  for (const { path, lfs } of tree) {
    if (!lfs || !/\.gguf$/i.test(path) || PROJECTOR.test(path)) continue;
    const url = `${endpoint}/${repository}/resolve/${revision}/${encodeURI(path)}`;
    const model = path.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '');
    models.set(model, [...(models.get(model) ?? []), { name: path, url, bytes: lfs.size, sha256: lfs.oid }]);
  }
  const matching = [...models].filter(([model, files]) => matches(file, model, files));
  const exact = matching.filter(
    ([model, files]) => model === file || files.some(({ name }) => name === file),
  );
  const [found, ...others] = exact.length > 0 ? exact : matching;
  if (found && others.length === 0) return found[1];
  const names = [...(found ? matching : models)].map(
    ([model, files]) => `${model} (${formatBytes(sizeOf(files))})`,
  );
  const list = names.slice(0, SHOWN).join(', ');
  throw badRequest(
    names.length === 0
      ? `${repository} has no GGUF file. Use a repository with GGUF files.`
      : `${repository} has ${found ? `${names.length} models that ${file ?? 'could be meant'} may name` : `no model ${file ?? ''}`}: ${list}. Name one of them as \`file\`.`,
    'source',
    'invalid_value',
  );
}

const matches = (file: string | null, model: string, files: readonly RemoteFile[]): boolean =>
  file === null ||
  model.toLowerCase().includes(file.toLowerCase()) ||
  files.some(({ name }) => name === file);

const sizeOf = (files: readonly RemoteFile[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);
