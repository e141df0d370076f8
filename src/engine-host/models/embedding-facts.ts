import { z } from '../../util/full-zod.ts';

import type { TransformersVariant } from '../../catalog/catalog.ts';
import { requestError } from '../../errors/service-error.ts';
import { readStart } from '../../model-files/sources/read-start.ts';
import type { EmbeddingFacts, HubModel, RemoteFile } from '../../protocol/weights-messages.ts';
import { parseJson } from '../../model-files/formats/check-format.ts';
import { configSchema } from '../../engines/onnx/transformers-files.ts';

const MAX_JSON_BYTES = 4 * 2 ** 20;
/** Bytes of the graph's start that are read: its operators come before its tensors. */
const GRAPH_BYTES = 2 ** 20;
/** Attention's memory grows with the square of the tokens: 300 MB for these. */
const MAX_CONTEXT = 2048;

/** Text encoders of transformers.js. The second group counts positions from the padding token on, which has number 1. */
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
  /** DistilBERT's name for it. */
  dim: size.optional(),
  max_position_embeddings: z
    .int()
    .positive()
    .max(2 ** 24),
});
/** Tokenizers without a limit say 10³⁰. */
const tokenizerFacts = z.looseObject({ model_max_length: z.number().min(1).nullish() });
const modulesFacts = z.array(z.looseObject({ type: z.string().max(200) })).max(20);
const poolingFacts = z.record(z.string().max(100), z.unknown());

const MODULES = new Set(['Transformer', 'Pooling', 'Normalize']);
const POOLINGS = new Map<string, TransformersVariant['pooling']>([
  ['mean', 'mean'],
  ['mean_tokens', 'mean'],
  ['cls', 'cls'],
  ['cls_token', 'cls'],
  ['lasttoken', 'last_token'],
]);

/** Reads the small files of an embedding model, and the start of its graph. @throws ServiceError */
export async function readEmbeddingFacts(
  repository: string,
  model: HubModel,
  signal: AbortSignal,
): Promise<EmbeddingFacts> {
  const json = async <T>(name: string, schema: z.ZodType<T>): Promise<T | null> => {
    const file = model.files.find((each) => each.name === name);
    const refuseFile = (how: string): Error => invalid(`${name} of ${repository}`, how);
    return file
      ? parseJson(await readJson(file, signal), schema, 'is not what a model has', refuseFile)
      : null;
  };
  const refuse = (why: string) =>
    requestError(400, `${repository} ${why}. Choose another model.`, 'unsupported_model', 'source');
  const config = await json('config.json', configFacts);
  const dimensions = config?.hidden_size ?? config?.dim;
  if (!config || dimensions === undefined) throw refuse('has no hidden_size in its config.json');
  const { model_type: architecture, max_position_embeddings: positions } = config;
  const offset = OFFSET_ENCODERS.has(architecture) ? POSITION_OFFSET : 0;
  if (offset === 0 && !ENCODERS.has(architecture))
    throw refuse(`is a ${JSON.stringify(architecture)} model, and no text encoder that localtext can run`);
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
    quantized: await isQuantized(model, signal),
    trainedContextLength,
    contextLength: Math.min(trainedContextLength, MAX_CONTEXT),
  };
}

/** The first step that is no part of a text encoder. */
const otherStep = (modules: z.output<typeof modulesFacts>): string | undefined =>
  modules.map(({ type }) => type.split('.').at(-1) ?? '').find((type) => !MODULES.has(type));

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

/** Those that are on: a flag for each, or, in newer files, one name. */
function poolingModes(config: Record<string, unknown>): string[] {
  const { pooling_mode: name, ...flags } = config;
  if (typeof name === 'string') return [name.slice(0, 100)];
  return Object.entries(flags).flatMap(([key, value]) =>
    value === true && key.startsWith('pooling_mode_') ? key.slice('pooling_mode_'.length) : [],
  );
}

/** Whether a graph is quantized: by its name, or by an operator that quantizes its input. */
async function isQuantized({ file, files: [graph] }: HubModel, signal: AbortSignal): Promise<boolean> {
  if (!graph || !file.endsWith('/model.onnx')) return true;
  const { bytes } = await readStart(graph.url, GRAPH_BYTES, signal);
  return new TextDecoder('latin1').decode(bytes).includes('DynamicQuantize');
}

async function readJson(file: RemoteFile, signal: AbortSignal): Promise<string> {
  if (file.bytes > MAX_JSON_BYTES) throw invalid(file.name, `has more than ${MAX_JSON_BYTES} bytes`);
  const { bytes } = await readStart(file.url, MAX_JSON_BYTES, signal);
  return new TextDecoder().decode(bytes);
}

const invalid = (file: string, how: string) =>
  requestError(400, `${file} ${how}. Nothing was stored.`, 'invalid_model_file', 'source');
