import { omitNulls } from '#base';
import {
  DEFAULT_SAMPLING,
  formatBytes,
  memoryShortage,
  wasmShortage,
  chooseContext,
  estimateMemory,
  type RemoteFile,
} from '#catalog';
import { COPIED_SHARE } from './rules.ts';
import { inspectModel, isProjector, type GgufTraits, type InspectedModel } from '#gguf';
import type { AddedFormat, FoundModel, SizedDevice } from '#engine-kit';
import { runsMainWasm } from './wasm-build.ts';

const POOLING_GUESS =
  'The file does not name its pooling. The mean of a text’s token vectors is used: if the model was trained with another pooling, its vectors are worse. Choose a file that names its pooling, or add the model to a catalog with `pooling`.';
const TAGGED_EMBEDDING =
  'The file is tagged as an embedding model but names no pooling, so the model is added for chat. For vectors, choose a file that names its pooling, or add the model to a catalog with `dimensions` and `pooling`.';
const RANKS = { pooling: 'rank' } as const;
/** Matches the quantization in most file names. */
const QUANTIZATION = /(?:^|[^a-z0-9])((?:I?Q\d|TQ\d|MXFP4|NVFP4|BF16|F16|F32)\w*)/i;
/** Maximum context of an embedding model or a reranker. It computes a text in one step, whose buffers grow with the text. */
const MAX_TEXT_TOKENS = 2048;
/** Maximum file size in the compatibility build: its file offsets are signed 32-bit integers. */
const MAX_FILE_BYTES = 2 ** 31 - 1;

/** How the user adds GGUF models. */
export const ggufFormat: AddedFormat = {
  noun: 'GGUF file',
  find: findModels,
  quantization: (file) => QUANTIZATION.exec(file)?.[1]?.toUpperCase() ?? null,
  shortage: (files, device) => shortage(bytesOf(files), files, device),
  async describe(modelFiles, device) {
    const inspected = await inspectModel(modelFiles);
    const { traits, name, bytes, files, roles } = inspected;
    const { architecture, quantization, embedding, reranks, chatTemplate, canChat } = traits;
    const generates = !embedding && !reranks;
    const fit = fitModel(inspected, device);
    const { contextLength, memoryBytes } = fit;
    const completionsOnly = !canChat && generates && { completionsOnly: true };
    const known = { name, architecture, quantization, contextLength, bytes, memoryBytes };
    return {
      files,
      roles,
      model: { ...known, ...completionsOnly, ...(embedding && { embedding }), ...(reranks && { reranks }) },
      variant: {
        engine: 'wllama',
        license: traits.license?.slice(0, 100) ?? 'unknown',
        contextLength,
        ...kvCacheOf(traits),
        ...embedding,
        ...(reranks && RANKS),
        ...(generates && { sampling: { ...DEFAULT_SAMPLING, ...traits.sampling } }),
        ...completionsOnly,
      },
      ...(generates && { defaults: traits.defaults }),
      details: {
        trainedContextLength: traits.contextLength,
        hasChatTemplate: chatTemplate !== null,
        canChat,
        tensors: traits.tensors,
        ...warningOf(traits),
      },
      shortage: fit.shortage,
      async fault() {
        if (chatTemplate === null || !generates) return undefined;
        const { templateFault } = await import('#chat-template');
        return templateFault(chatTemplate);
      },
    };
  },
};

function warningOf({ embedding, reranks, guessesPooling, isTaggedEmbedding }: GgufTraits) {
  if (guessesPooling) return { warning: POOLING_GUESS };
  return !embedding && !reranks && isTaggedEmbedding ? { warning: TAGGED_EMBEDDING } : {};
}

/** Detects an importance matrix by its file name. A name with a quantization is a model's. */
const isImportanceMatrix = (name: string): boolean => /imatrix/i.test(name) && !QUANTIZATION.test(name);

/** Lists the GGUF models, each with the repository's smallest projector, if any. */
function findModels(files: readonly RemoteFile[], isEmbedding: boolean): FoundModel[] {
  const models = new Map<string, RemoteFile[]>();
  const projectors: RemoteFile[] = [];
  for (const file of files) {
    const { name } = file;
    if (!/\.gguf$/i.test(name) || isImportanceMatrix(name)) continue;
    if (isProjector(name)) {
      projectors.push(file);
      continue;
    }
    const model = name.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '');
    const parts = models.get(model) ?? [];
    parts.push(file);
    models.set(model, parts);
  }
  const [optional] = projectors.toSorted((a, b) => a.bytes - b.bytes);
  return [...models].map(([file, parts]) => ({
    kind: isEmbedding ? 'embedding' : 'chat',
    file,
    files: optional ? [...parts, optional] : parts,
    optional,
  }));
}

const kvCacheOf = ({ kvValues, kvWindow, stateBytes }: InspectedModel<unknown>['traits']) =>
  omitNulls({ kvValues: kvValues || null, kvWindow, stateBytes: stateBytes || null });

/** Finds the longest context that fits, and its memory. Embedding models and rerankers do not run on the GPU. */
function fitModel(
  { traits, bytes, files, roles }: InspectedModel<{ size: number }>,
  { memoryGiB, gpu }: SizedDevice,
): { contextLength: number; memoryBytes: number; shortage: string | undefined } {
  const { contextLength: trained, embedding, reranks } = traits;
  const onCpu = embedding !== null || reranks;
  const isVision = [...roles.values()].includes('projector');
  const sized = {
    engine: 'wllama',
    files: [{ bytes, ...(isVision && { role: 'projector' as const }) }],
    ...kvCacheOf(traits),
    contextLength: onCpu ? Math.min(trained, MAX_TEXT_TOKENS) : trained,
    ...(embedding && { dimensions: embedding.dimensions }),
    ...(reranks && RANKS),
  };
  const shortageOf = (needed: number): string | undefined =>
    shortage(needed, files, { memoryGiB, gpu: onCpu ? null : gpu });
  const contextLength = chooseContext(sized, (needed) => shortageOf(needed) === undefined);
  const { memoryBytes } = estimateMemory({ ...sized, contextLength });
  return { contextLength, memoryBytes, shortage: shortageOf(memoryBytes) };
}

/** Why llama.cpp cannot run the model on this device, as a phrase that follows its name; undefined if it may run. */
function shortage(
  memoryBytes: number,
  files: readonly { size: number }[],
  { memoryGiB, gpu }: SizedDevice,
): string | undefined {
  const holdsWeights = gpu !== null && !gpu.fallback && gpu.features.includes('shader-f16');
  const largest = Math.max(0, ...files.map(({ size }) => size));
  const copied = COPIED_SHARE * bytesOf(files);
  return (
    memoryShortage(memoryBytes, memoryGiB) ??
    (holdsWeights ? undefined : wasmShortage(memoryBytes - copied)) ??
    (largest <= MAX_FILE_BYTES || runsMainWasm() ? undefined : tooLarge(largest))
  );
}

const bytesOf = (files: readonly { size: number }[]): number =>
  files.reduce((sum, { size }) => sum + size, 0);

const tooLarge = (bytes: number): string =>
  `has a file of ${formatBytes(bytes)}, and this browser, without 64-bit WebAssembly memory, reads at most ${formatBytes(MAX_FILE_BYTES)} of one: split it with llama-gguf-split, and add all parts together`;
