import { formatBytes } from '../../catalog/device-fit.ts';
import { weightBytes } from '../../catalog/memory-estimate.ts';
import { badRequest } from '../../errors/engine-error.ts';
import type { ModelSource } from '../../protocol/weights-command.ts';
import type { HubModel, RemoteFile } from '../../protocol/weights-messages.ts';
import { commitOf, readTree } from './hub-source.ts';

const REPOSITORY = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;
/** A branch, a tag or a commit. */
const REVISION = /^[\w.-]{1,100}$/;
/** An image or audio part, which belongs to a model and is none. */
const PROJECTOR = /mmproj/i;
const SHOWN = 20;

/** Graphs that the CPU runs, by the names that exporters give: in float32, and in 8 bits. */
const GRAPH = /^onnx\/model(_quantized|_u?int8)?\.onnx$/;
const USUAL_GRAPH = 'onnx/model.onnx';
const REQUIRED = ['config.json', 'tokenizer.json', 'tokenizer_config.json'];
/** What an embedding model consists of, beside its graph and the tensors of it. In this order: the first tells its folder. */
const SMALL_FILES = [...REQUIRED, 'modules.json', '1_Pooling/config.json'];
/** Its tensors, after the graph's own name. */
const TENSORS = /^_data(_\d+)?$/;

export type HubModelSource = Extract<ModelSource, { type: 'hub' }>;

/** The models of a repository in GGUF and ONNX, the smallest first, at the commit that its revision has now. @throws EngineError */
export async function listModels(
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
  const query = { name: repository, repository, revision: wanted ?? 'main', endpoint, signal };
  const revision = await commitOf(query);
  const tree = await readTree({ ...query, revision });
  const present = tree.filter(({ path, size }) => size > 0 && !/(^|\/)\.{1,2}(\/|$)/.test(path));
  const files = present.map(({ path, size, lfs }): RemoteFile => ({
    name: path,
    url: `${endpoint}/${repository}/resolve/${revision}/${path.split('/').map(encodeURIComponent).join('/')}`,
    bytes: lfs?.size ?? size,
    sha256: lfs?.oid ?? null,
  }));
  const models = [...ggufModels(files), ...onnxModels(files)];
  if (models.length === 0) throw badRequest(whyNone(repository, files), 'source', 'unsupported_model');
  return models
    .map((model) => ({ ...model, revision, bytes: weightBytes(model) }))
    .toSorted((a, b) => a.bytes - b.bytes);
}

type Found = Pick<HubModel, 'kind' | 'file' | 'files'>;

function ggufModels(files: readonly RemoteFile[]): Found[] {
  const models = new Map<string, RemoteFile[]>();
  for (const file of files) {
    const { name, sha256 } = file;
    if (sha256 === null || !/\.gguf$/i.test(name) || PROJECTOR.test(name)) continue;
    const model = name.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '');
    models.set(model, [...(models.get(model) ?? []), file]);
  }
  return [...models].map(([file, parts]) => ({ kind: 'chat', file, files: parts }));
}

function onnxModels(files: readonly RemoteFile[]): Found[] {
  if (missing(files).length > 0) return [];
  const small = SMALL_FILES.flatMap((wanted) => files.find(({ name }) => name === wanted) ?? []);
  return files
    .filter(({ name }) => GRAPH.test(name))
    .map((graph) => {
      const tensors = files.filter(
        ({ name }) => name.startsWith(graph.name) && TENSORS.test(name.slice(graph.name.length)),
      );
      return { kind: 'embedding', file: graph.name, files: [graph, ...tensors, ...small] };
    });
}

const missing = (files: readonly RemoteFile[]): string[] =>
  REQUIRED.filter((needed) => !files.some(({ name }) => name === needed));

function whyNone(repository: string, files: readonly RemoteFile[]): string {
  const graph = files.find(({ name }) => GRAPH.test(name));
  return graph
    ? `${repository} has ${graph.name}, but no ${missing(files).join(', ')}: localtext cannot run it as a text embedding model. Use another repository.`
    : `${repository} has no GGUF file, and no embedding model in ${USUAL_GRAPH}. Use a repository that has one.`;
}

/**
 * The one model that `file` names: a path, or a part of one that only one model has, as its quantization; null: the only
 * model, or that of `onnx/model.onnx`. @throws EngineError
 */
export function chooseHubModel({ repository, file }: HubModelSource, models: readonly HubModel[]): HubModel {
  const matching = models.filter((model) => matches(file, model));
  const usual = models.every(({ kind }) => kind === 'embedding') ? USUAL_GRAPH : null;
  const exact = matching.filter((model) => isExactly(file ?? usual, model));
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
