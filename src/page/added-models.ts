import type { AddedModel } from '../catalog/added-models.ts';
import { toModelId } from '../catalog/added-models.ts';
import { formatBytes, memoryShortage, reportedMemoryGiB } from '../catalog/device-fit.ts';
import { chooseContext, estimateMemory } from '../catalog/memory-estimate.ts';
import { FormatError } from '../gguf/byte-cursor.ts';
import { inspectModel, type InspectedModel, type ModelFile } from '../gguf/inspect-model.ts';
import { startOfBlob } from '../gguf/read-header.ts';
import { WEIGHTS_PATH } from '../protocol/local-paths.ts';
import type { ModelSource, WeightsCommand } from '../protocol/weights-messages.ts';
import { readAddedModels } from '../storage/added-model-records.ts';
import type { AddOptions, AddSource, ModelDetails } from './added-model-types.ts';
import { fetchLocal } from './fetch-local.ts';
import { LocaltextError } from './localtext-error.ts';
import { postWeights } from './post-weights.ts';
import { readLines } from './read-lines.ts';
import { withStorage } from './requirements.ts';

type LocalFile = ModelFile & { file: File };

export async function listModels(scope: string): Promise<AddedModel[]> {
  const records = await withStorage(() => readAddedModels(scope));
  return records.map(({ model }) => model);
}

export async function inspectFiles(given: File | Iterable<File>): Promise<ModelDetails> {
  const { facts, name, bytes } = await inspect(given);
  const memory = reportedMemoryGiB(navigator);
  const model = { ...facts, engine: 'wllama' as const, files: [{ bytes }] };
  const contextLength = chooseContext(model, (needed) => memoryShortage(needed, memory) === undefined);
  const { memoryBytes } = estimateMemory({ ...model, contextLength });
  return {
    suggestedId: toModelId(name),
    name,
    architecture: facts.architecture,
    quantization: facts.quantization,
    trainedContextLength: facts.contextLength,
    contextLength,
    hasChatTemplate: facts.chatTemplate !== null,
    tensors: facts.tensors,
    bytes,
    memoryBytes,
    problem: memoryShortage(memoryBytes, memory) ?? (await storageShortage(bytes)),
  };
}

export async function addModel(
  source: AddSource,
  { id, signal, onProgress }: AddOptions & { signal: AbortSignal },
): Promise<AddedModel> {
  const response = await post(source, id ?? null, signal);
  let added: AddedModel | null = null;
  await readLines(response, (line) => {
    if (line.type === 'progress') onProgress?.(line.progress);
    if (line.type === 'added') added = line.model;
  });
  if (added) return added;
  throw new LocaltextError('engine_lost', 'Adding the model was interrupted. Try again.');
}

export async function command(which: WeightsCommand, signal: AbortSignal): Promise<void> {
  await postWeights('', JSON.stringify(which), signal);
}

/** One blob of all files: the browser hands it on without a copy. */
async function post(source: AddSource, id: string | null, signal: AbortSignal): Promise<Response> {
  if (isFiles(source)) {
    const { files } = await inspect(source);
    const query = { id, files: files.map(({ name, size }) => ({ name, bytes: size })) };
    return fetchLocal(`${WEIGHTS_PATH}?add=${encodeURIComponent(JSON.stringify(query))}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Blob(files.map(({ file }) => file)),
      signal,
    });
  }
  const remote: ModelSource =
    'url' in source
      ? { type: 'url', url: new URL(source.url, document.baseURI).href, sha256: source.sha256 }
      : { type: 'hub', repository: source.hub, file: source.file ?? null };
  return fetchLocal(WEIGHTS_PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'add', id, source: remote }),
    signal,
  });
}

const isFiles = (source: AddSource): source is File | Iterable<File> =>
  source instanceof File || Symbol.iterator in source;

/** Checked here too, so that no unreadable file becomes a request that fails without a reason. */
async function inspect(given: File | Iterable<File>): Promise<InspectedModel<LocalFile>> {
  const files = given instanceof File ? [given] : [...given];
  try {
    return await inspectModel(
      files.map((file): LocalFile => ({ ...startOfBlob(file), name: file.name, file })),
    );
  } catch (error) {
    if (error instanceof FormatError)
      throw new LocaltextError('invalid_model_file', `${error.message}. Nothing was stored.`);
    throw error;
  }
}

async function storageShortage(bytes: number): Promise<string | null> {
  const { quota, usage = 0 } = await navigator.storage.estimate().catch((): StorageEstimate => ({}));
  if (quota === undefined || quota - usage >= bytes) return null;
  return `needs ${formatBytes(bytes)} of storage, and the browser lets this site store ${formatBytes(quota - usage)} more`;
}
