import { embeddingQuantization, toModelId } from '../catalog/added-models.ts';
import {
  type EngineLimits,
  engineShortage,
  fitGguf,
  fitEmbedding,
  formatBytes,
  reportedMemoryGiB,
} from '../catalog/memory-estimate.ts';
import { FormatError, startOfBlob } from '../model-files/gguf/byte-cursor.ts';
import {
  inspectModel,
  type InspectedModel,
  isProjector,
  type ModelFile,
} from '../model-files/gguf/inspect-model.ts';
import { ServiceError } from '../errors/service-error.ts';
import { runsMainWasm } from '../util/main-wasm.ts';
import { readStart } from '../model-files/sources/read-start.ts';
import type { ModelSource } from '../protocol/weights-command.ts';
import type { EmbeddingFacts, HubModel } from '../protocol/weights-messages.ts';
import type { AddSource, HubFile, HubOffer, ModelDetails } from './added-model-types.ts';
import { fromWire, postWeights } from './engine-access.ts';
import { LocaltextError } from './localtext-error.ts';
import { freeBytes } from '../util/storage-estimate.ts';

type LocalFile = ModelFile & { file: File };

/** The type of a model's file, as most names of files have it. */
const QUANTIZATION = /(?:^|[^a-z0-9])((?:I?Q\d|TQ\d|MXFP4|NVFP4|BF16|F16|F32)\w*)/i;

function quantizationOf(kind: HubModel['kind'], file: string): string | null {
  if (kind === 'embedding') return file.endsWith('/model.onnx') ? null : embeddingQuantization(true);
  return QUANTIZATION.exec(file)?.[1]?.toUpperCase() ?? null;
}

export async function listOffers(repository: string, signal: AbortSignal): Promise<HubOffer[]> {
  const models = await askHub(hubSource({ hub: repository }), true, signal);
  const limits = await engineLimits();
  return Promise.all(
    models.map(async ({ kind, file, revision, bytes, files }) => {
      const shortage =
        kind === 'chat'
          ? engineShortage(bytes, files.map(sizeOf), limits)
          : fitEmbedding(bytes, limits).shortage;
      const quantization = quantizationOf(kind, file);
      const problem = shortage ?? (await storageShortage(bytes));
      return { hub: repository, kind, file, revision, quantization, bytes, problem };
    }),
  );
}

export async function inspectSource(source: AddSource, signal: AbortSignal): Promise<ModelDetails> {
  const opened = await openSource(source, signal);
  const limits = await engineLimits();
  if (opened.facts) return embeddingDetails(opened.facts, opened.files, limits);
  const inspected = await readHeaders(opened.files);
  const { facts, name, bytes } = inspected;
  const { contextLength, memoryBytes, shortage } = fitGguf(inspected, limits);
  return {
    suggestedId: toModelId(name),
    name,
    architecture: facts.architecture,
    quantization: facts.quantization,
    trainedContextLength: facts.contextLength,
    contextLength,
    hasChatTemplate: facts.chatTemplate !== null,
    canChat: facts.canChat,
    tensors: facts.tensors,
    bytes,
    memoryBytes,
    ...(facts.embedding && { embedding: facts.embedding }),
    problem: shortage ?? (await storageShortage(bytes)),
  };
}

async function embeddingDetails(
  { name, dimensions, pooling, quantized, ...facts }: EmbeddingFacts,
  files: readonly ModelFile[],
  limits: EngineLimits,
): Promise<ModelDetails> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const { memoryBytes, shortage } = fitEmbedding(bytes, limits);
  return {
    suggestedId: toModelId(name),
    name,
    ...facts,
    quantization: embeddingQuantization(quantized),
    hasChatTemplate: false,
    canChat: false,
    tensors: null,
    bytes,
    embedding: { dimensions, pooling },
    memoryBytes,
    problem: shortage ?? (await storageShortage(bytes)),
  };
}

/** Reads the files' headers before they are sent: a file that cannot be read would become a request that fails without a reason. */
export const inspectFiles = (files: File | Iterable<File>): Promise<InspectedModel<LocalFile>> =>
  readHeaders(localFiles(files));

export const isFiles = (source: AddSource): source is File | Iterable<File> =>
  source instanceof File || Symbol.iterator in source;

/** Converts a source to its message to the engine worker. */
export function remoteSource(source: Exclude<AddSource, File | Iterable<File>>): RemoteSource {
  if ('url' in source)
    return { type: 'url', url: new URL(source.url, document.baseURI).href, sha256: source.sha256 };
  return hubSource(source);
}

function hubSource(source: HubFile): HubSource {
  const { hub, file = null, revision = null } = source;
  return { type: 'hub', repository: hub, file, revision };
}

type RemoteSource = Exclude<ModelSource, { type: 'files' }>;
type HubSource = Extract<ModelSource, { type: 'hub' }>;

const localFiles = (files: File | Iterable<File>): LocalFile[] =>
  (files instanceof File ? [files] : [...files]).map((file) => ({
    ...startOfBlob(file),
    name: file.name,
    file,
  }));

async function openSource(
  source: AddSource,
  signal: AbortSignal,
): Promise<{ files: ModelFile[]; facts?: EmbeddingFacts }> {
  if (isFiles(source)) return { files: localFiles(source) };
  const remote = remoteSource(source);
  const open = (url: string, name: string, size: number): ModelFile => ({
    name,
    size,
    optional: remote.type === 'hub' && isProjector(name),
    read: async (length) => (await readRemote(url, length, signal)).bytes,
  });
  if (remote.type === 'url') {
    const { size } = await readRemote(remote.url, 1, signal);
    return { files: [open(remote.url, new URL(remote.url).pathname, size)] };
  }
  const [{ files = [], facts } = {}] = await askHub(remote, false, signal);
  return { files: files.map(({ url, name, bytes }) => open(url, name, bytes)), ...(facts && { facts }) };
}

async function readRemote(url: string, length: number, signal: AbortSignal) {
  try {
    return await readStart(url, length, signal);
  } catch (error) {
    throw error instanceof ServiceError ? fromWire(error.wire) : error;
  }
}

async function askHub(source: HubSource, all: boolean, signal: AbortSignal): Promise<HubModel[]> {
  return (await postWeights({ type: 'hub', source, all }, signal)).models;
}

async function readHeaders<F extends ModelFile>(files: readonly F[]): Promise<InspectedModel<F>> {
  try {
    return await inspectModel(files);
  } catch (error) {
    if (error instanceof FormatError)
      throw new LocaltextError('invalid_model_file', `${error.message}. Nothing was stored.`);
    throw error;
  }
}

const sizeOf = ({ bytes }: { bytes: number }): { size: number } => ({ size: bytes });

async function engineLimits(): Promise<EngineLimits> {
  const adapter = await navigator.gpu?.requestAdapter().catch(() => null);
  return {
    memoryGiB: reportedMemoryGiB(navigator),
    gpu: adapter?.features.has('shader-f16') ?? false,
    memory64: runsMainWasm(),
  };
}

async function storageShortage(bytes: number): Promise<string | null> {
  const free = await freeBytes();
  if (free === null || free >= bytes) return null;
  return `needs ${formatBytes(bytes)} of storage, and the browser lets this site store ${formatBytes(free)} more`;
}
