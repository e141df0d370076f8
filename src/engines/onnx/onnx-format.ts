import { z } from '#base/full-zod';
import {
  prefix,
  memoryShortage,
  wasmShortage,
  estimateMemory,
  type RemoteFile,
  type TransformersVariant,
} from '#catalog';
import { parseJson, requestError } from '#base';
import type { ModelFile } from '#gguf';
import type { AddedFormat, FoundModel, SizedDevice } from '#engine-kit';
import { configSchema, MAX_TOKENIZER_BYTES } from './transformers-files.ts';

/** Graphs that the CPU can run, in float32 or 8 bits, by exporters' file names. */
const GRAPH = /^onnx\/model(_quantized|_u?int8)?\.onnx$/;
const USUAL_GRAPH = 'onnx/model.onnx';
const REQUIRED = ['config.json', 'tokenizer.json', 'tokenizer_config.json'];
/** Files beside the graph and its tensors. The order matters: the first determines the folder. */
const SMALL_FILES = [
  ...REQUIRED,
  'modules.json',
  '1_Pooling/config.json',
  'config_sentence_transformers.json',
];
/** Suffix of the tensors' files, after the graph's name. */
const TENSORS = /^_data(_\d+)?$/;

const MAX_JSON_BYTES = 4 * 2 ** 20;
/** Number of bytes to read from the graph's start, where its operators are. */
const GRAPH_BYTES = 2 ** 20;
/** Maximum context in tokens. Attention's memory grows with its square: 300 MB for this. */
const MAX_CONTEXT = 2048;

/** Text encoders that transformers.js runs. `OFFSET_ENCODERS` number positions from the padding token's id (1) + 1. */
const ENCODERS = new Set(
  `albert bert convbert deberta deberta-v2 distilbert electra mobilebert modernbert roformer
  squeezebert`.split(/\s+/),
);
const OFFSET_ENCODERS = new Set('camembert mpnet roberta xlm-roberta'.split(' '));
const POSITION_OFFSET = 2;

const size = z.int().positive().max(65_536);
const configFacts = configSchema.extend({
  model_type: z.string().min(1).max(60),
  hidden_size: size.optional(),
  /** DistilBERT's `hidden_size`. */
  dim: size.optional(),
  max_position_embeddings: z
    .int()
    .positive()
    .max(2 ** 24),
});
/** Facts in `tokenizer_config.json`. Tokenizers without a limit have 10³⁰. */
const tokenizerFacts = z.looseObject({ model_max_length: z.number().min(1).nullish() });
const modulesFacts = z.array(z.looseObject({ type: z.string().max(200) })).max(20);
/** Prefixes by task. Files call that of documents `document` or `passage`. */
const promptFacts = z
  .looseObject({
    prompts: z
      .looseObject({ query: prefix.nullish(), document: prefix.nullish(), passage: prefix.nullish() })
      .nullish(),
  })
  .catch({});
const poolingFacts = z.record(z.string().max(100), z.unknown());

const MODULES = new Set(['Transformer', 'Pooling', 'Normalize']);
const POOLINGS = new Map<string, TransformersVariant['pooling']>(
  Object.entries({
    mean: 'mean',
    mean_tokens: 'mean',
    cls: 'cls',
    cls_token: 'cls',
    lasttoken: 'last_token',
  }),
);

/** Name of the quantization. Quantized graphs on the hub have 8 bits. */
const quantizationOf = (quantized: boolean): string => (quantized ? 'INT8' : 'F32');

/** How the user adds embedding models in ONNX. */
export const onnxFormat: AddedFormat = {
  noun: `embedding model in ${USUAL_GRAPH}`,
  isNamed: true,
  find: findModels,
  lack(files) {
    const graph = files.find(({ name }) => GRAPH.test(name));
    return (
      graph &&
      `has ${graph.name}, but no ${missingFiles(files).join(', ')}: localtext cannot run it as a text embedding model`
    );
  },
  quantization: (file) => (file === USUAL_GRAPH ? null : quantizationOf(true)),
  shortage: (files, device) => fitModel(files, device).shortage,
  async describe(files, repository, device) {
    const tokenizer = files.find(({ name }) => name === 'tokenizer.json');
    if (tokenizer && tokenizer.size > MAX_TOKENIZER_BYTES)
      throw invalid(tokenizer.name, `has more than ${MAX_TOKENIZER_BYTES} bytes`);
    const facts = await readEmbeddingFacts(repository ?? 'the model', files);
    const { quantized, trainedContextLength, dimensions, pooling, prefixes, ...named } = facts;
    const embedding = { dimensions, pooling };
    const { shortage, ...sizes } = fitModel(files, device);
    return {
      files: [...files],
      model: { ...named, quantization: quantizationOf(quantized), ...sizes, embedding },
      variant: {
        engine: 'transformers',
        license: 'unknown',
        contextLength: facts.contextLength,
        ...embedding,
        ...(prefixes && { prefixes }),
        ...(quantized && { device: 'wasm' as const, maxBatchSize: 1 }),
      },
      details: { trainedContextLength, hasChatTemplate: false, canChat: false, tensors: null },
      shortage,
    };
  },
};

function findModels(files: readonly RemoteFile[]): FoundModel[] {
  if (missingFiles(files).length > 0) return [];
  const small = SMALL_FILES.flatMap((needed) => files.find(({ name }) => name === needed) ?? []);
  return files
    .filter(({ name }) => GRAPH.test(name))
    .map((graph) => {
      const tensors = files.filter(
        ({ name }) => name.startsWith(graph.name) && TENSORS.test(name.slice(graph.name.length)),
      );
      return {
        kind: 'embedding',
        file: graph.name,
        files: [graph, ...tensors, ...small],
        isUsual: graph.name === USUAL_GRAPH,
      };
    });
}

const missingFiles = (files: readonly RemoteFile[]): string[] =>
  REQUIRED.filter((needed) => !files.some(({ name }) => name === needed));

/** Estimates the memory. ONNX Runtime uses WASM memory even when the GPU computes. */
function fitModel(
  files: readonly { size: number }[],
  { memoryGiB }: SizedDevice,
): { bytes: number; memoryBytes: number; shortage: string | undefined } {
  const bytes = files.reduce((sum, { size: own }) => sum + own, 0);
  const { memoryBytes } = estimateMemory({ engine: 'transformers', contextLength: 0, files: [{ bytes }] });
  const shortage = memoryShortage(memoryBytes, memoryGiB) ?? wasmShortage(memoryBytes);
  return { bytes, memoryBytes, shortage };
}

/** Reads the small files of an embedding model and the start of its graph. @throws ServiceError */
async function readEmbeddingFacts(repository: string, files: readonly ModelFile[]) {
  const json = async <T>(name: string, schema: z.ZodType<T>): Promise<T | null> => {
    const file = files.find((each) => each.name === name);
    const refuseFile = (how: string): Error => invalid(`${name} of ${repository}`, how);
    return file ? parseJson(await readText(file), schema, 'is not what a model has', refuseFile) : null;
  };
  const refuse = (why: string) =>
    requestError(400, `${repository} ${why}. Choose another model.`, 'unsupported_model', 'source');
  const config = await json('config.json', configFacts);
  const dimensions = config?.hidden_size ?? config?.dim;
  if (!config || dimensions === undefined) throw refuse('has no hidden_size in its config.json');
  const { model_type: architecture, max_position_embeddings: positions } = config;
  const offset = OFFSET_ENCODERS.has(architecture) ? POSITION_OFFSET : 0;
  if (offset === 0 && !ENCODERS.has(architecture))
    throw refuse(
      `is a ${JSON.stringify(architecture)} model, which is not a text encoder that localtext can run`,
    );
  const limit = (await json('tokenizer_config.json', tokenizerFacts))?.model_max_length ?? positions;
  const trainedContextLength = Math.max(1, Math.floor(Math.min(positions - offset, limit)));
  const other = otherStep((await json('modules.json', modulesFacts)) ?? []);
  if (other !== undefined)
    throw refuse(`has a step ${JSON.stringify(other)} in its modules.json, which localtext does not compute`);
  const pooling = poolingOf(
    (await json('1_Pooling/config.json', poolingFacts)) ?? { pooling_mode: 'mean' },
    refuse,
  );
  return {
    name: repository.split('/')[1] ?? repository,
    architecture,
    dimensions,
    pooling,
    prefixes: prefixesOf(await json('config_sentence_transformers.json', promptFacts)),
    quantized: await isQuantized(files),
    trainedContextLength,
    contextLength: Math.min(trainedContextLength, MAX_CONTEXT),
  };
}

/** Finds the first step that a text encoder does not have. */
const otherStep = (modules: z.output<typeof modulesFacts>): string | undefined =>
  modules.map(({ type }) => type.split('.').at(-1) ?? '').find((type) => !MODULES.has(type));

function prefixesOf(facts: z.output<typeof promptFacts> | null): TransformersVariant['prefixes'] {
  const { query, document, passage } = facts?.prompts ?? {};
  const prefixes = { query: query ?? '', document: document ?? passage ?? '' };
  return prefixes.query + prefixes.document === '' ? undefined : prefixes;
}

function poolingOf(
  config: Record<string, unknown>,
  refuse: (why: string) => Error,
): TransformersVariant['pooling'] {
  const modes = poolingModes(config).join(' and ');
  const pooling = POOLINGS.get(modes);
  if (pooling) return pooling;
  throw refuse(
    `asks for the pooling ${JSON.stringify(modes)} in its 1_Pooling/config.json; localtext has mean, cls and last token`,
  );
}

/** Lists the active pooling modes. Older files have a flag per mode, newer files one name. */
function poolingModes(config: Record<string, unknown>): string[] {
  const { pooling_mode: name, ...flags } = config;
  if (typeof name === 'string') return [name.slice(0, 100)];
  return Object.entries(flags).flatMap(([key, value]) =>
    value === true && key.startsWith('pooling_mode_') ? key.slice('pooling_mode_'.length) : [],
  );
}

/** Whether a graph is quantized, by its name or by an operator that quantizes inputs. */
async function isQuantized([graph]: readonly ModelFile[]): Promise<boolean> {
  if (graph?.name !== USUAL_GRAPH) return true;
  return new TextDecoder('latin1').decode(await graph.read(GRAPH_BYTES)).includes('DynamicQuantize');
}

async function readText(file: ModelFile): Promise<string> {
  if (file.size > MAX_JSON_BYTES) throw invalid(file.name, `has more than ${MAX_JSON_BYTES} bytes`);
  return new TextDecoder().decode(await file.read(MAX_JSON_BYTES));
}

const invalid = (file: string, how: string) =>
  requestError(400, `${file} ${how}. Nothing was stored.`, 'invalid_model_file', 'source');
