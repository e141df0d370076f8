import { type AddedModel, embeddingQuantization } from '../../catalog/added-models.ts';
import type { TransformersVariant, WllamaVariant } from '../../catalog/catalog.ts';
import { fitEmbedding, fitGguf } from '../../catalog/memory-estimate.ts';
import { type InspectedModel, inspectModel } from '../../model-files/gguf/inspect-model.ts';
import { requestError } from '../../errors/service-error.ts';
import { runsMainWasm } from '../../util/main-wasm.ts';
import type { EmbeddingFacts } from '../../protocol/weights-messages.ts';
import type { Device } from '../../engines/device.ts';
import type { OpenedSource, SourceFile } from './model-source.ts';

type Unstored<V> = Omit<V, 'name' | 'files'>;

/** A model before its files are stored. */
export interface DescribedModel {
  /** Files in their order. */
  files: SourceFile[];
  /** The one of `files` that sees. */
  projector?: SourceFile | null;
  model: Omit<AddedModel, 'id' | 'created'>;
  variant: Unstored<WllamaVariant> | Unstored<TransformersVariant>;
}

/** llama.cpp's own defaults: small models write nonsense without them. */
const SAMPLING = { topK: 40, minP: 0.05 };

/** @throws ServiceError 400 `unsupported_model`; FormatError */
export async function describeAddedModel(
  { files, facts }: OpenedSource,
  device: Pick<Device, 'gpu' | 'memoryGiB'>,
  keepTemplateText = false,
): Promise<DescribedModel> {
  return facts
    ? describeEmbedding(files, facts, device)
    : describeGguf(await inspectModel(files), device, keepTemplateText);
}

async function describeGguf(
  inspected: InspectedModel<SourceFile>,
  { memoryGiB, gpu }: Pick<Device, 'gpu' | 'memoryGiB'>,
  keepTemplateText: boolean,
): Promise<DescribedModel> {
  const { facts, name, bytes, files, projector } = inspected;
  await requireTemplate(inspected);
  const { architecture, quantization, kvValues, embedding } = facts;
  const { contextLength, memoryBytes, shortage } = fitGguf(inspected, {
    memoryGiB,
    gpu: gpu !== null && !gpu.fallback && gpu.features.includes('shader-f16'),
    memory64: runsMainWasm(),
  });
  requireFit(name, shortage);
  const completionsOnly = !facts.canChat && !embedding && { completionsOnly: true };
  const license = facts.license?.slice(0, 100) ?? 'unknown';
  return {
    files,
    projector,
    model: {
      name,
      architecture,
      quantization,
      contextLength,
      bytes,
      memoryBytes,
      ...completionsOnly,
      ...(embedding && { embedding }),
    },
    variant: {
      engine: 'wllama',
      license,
      contextLength,
      ...(kvValues > 0 && { kvValues }),
      ...(embedding ?? { sampling: SAMPLING }),
      ...completionsOnly,
      ...(keepTemplateText && { keepTemplateText }),
    },
  };
}

function describeEmbedding(
  files: SourceFile[],
  { name, architecture, quantized, contextLength, dimensions, pooling }: EmbeddingFacts,
  { memoryGiB }: Pick<Device, 'memoryGiB'>,
): DescribedModel {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const limits = { memoryGiB, gpu: false, memory64: false };
  const { memoryBytes, shortage } = fitEmbedding(bytes, limits);
  requireFit(name, shortage);
  const quantization = embeddingQuantization(quantized);
  const embedding = { dimensions, pooling };
  return {
    files,
    model: { name, architecture, quantization, contextLength, bytes, memoryBytes, embedding },
    variant: {
      engine: 'transformers',
      license: 'unknown',
      contextLength,
      ...embedding,
      ...(quantized && { device: 'wasm' as const, maxBatchSize: 1 }),
    },
  };
}

/** @throws ServiceError 400 `unsupported_model` */
async function requireTemplate({ name, facts }: InspectedModel<SourceFile>): Promise<void> {
  if (facts.chatTemplate === null || facts.embedding) return;
  const { templateFault } = await import('../../engines/template/prompt-renderer.ts');
  const fault = await templateFault(facts.chatTemplate);
  if (fault === undefined) return;
  throw requestError(400, `${name} ${fault}. Use another file of this model.`, 'unsupported_model', 'source');
}

/** @throws ServiceError 400 `unsupported_model` */
function requireFit(name: string, shortage: string | undefined): void {
  if (shortage === undefined) return;
  throw requestError(400, `${name} ${shortage}. Choose a smaller model.`, 'unsupported_model', 'source');
}
