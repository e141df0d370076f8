import { z } from '#base/full-zod';

import type { VariantOf } from '#catalog';
import type { TransformersVariant } from '../transformers/rules.ts';
import { isOutOfMemory, outOfMemory, type EngineContext } from '#engine-kit';
import { corruptFile, engineCrashed, parseJson, serverError, ServiceError, messageOf } from '#base';

/** A variant that onnxruntime runs. */
export type OnnxVariant = TransformersVariant | VariantOf<'whisper'> | VariantOf<'voice'>;

const CONFIG = 'config.json';
const TOKENIZER = 'tokenizer.json';
const TOKENIZER_FILES = ['tokenizer_config.json', TOKENIZER];

const MAX_JSON_BYTES = 4 * 2 ** 20;
/** Maximum size of a tokenizer's file. The largest vocabularies take half of it. */
const MAX_TOKENIZER_BYTES = 64 * 2 ** 20;
const GRAPH = /^onnx\/([\w.-]+)\.onnx$/;

/** Bounds for numbers that transformers.js loops up to. No real model exceeds them. */
const layers = z.int().positive().max(4096).optional();
const size = z.int().positive().max(16_777_216).optional();
export const configSchema = z.looseObject({
  model_type: z.string().min(1),
  d_model: size,
  decoder_layers: layers,
  decoder_attention_heads: layers,
  vocab_size: size,
  hidden_size: size,
  head_dim: size,
  num_hidden_layers: layers,
  num_attention_heads: layers,
  num_key_value_heads: layers,
  n_layer: layers,
  layer_types: z.array(z.string()).max(4096).optional(),
});

/** Folder of the model's files, ending in `/`, or ''. */
export function folderOf({ files }: OnnxVariant): string {
  const config = files.find(({ path }) => /(^|\/)config\.json$/.test(path));
  return config ? config.path.slice(0, -CONFIG.length) : '';
}

/** Name of the graph's file without its extension. Only the catalog's file list decides which quantization is loaded. */
export const graphOf = (variant: OnnxVariant): string =>
  namesOf(variant).flatMap((name) => GRAPH.exec(name)?.[1] ?? [])[0] ?? 'model';

/** transformers.js's names for a graph's quantizations, by suffix of the file name. */
const BUILDS = {
  '': 'fp32',
  _fp16: 'fp16',
  _int8: 'int8',
  _uint8: 'uint8',
  _quantized: 'q8',
  _q4: 'q4',
  _q4f16: 'q4f16',
  _bnb4: 'bnb4',
} as const;
export type Build = (typeof BUILDS)[keyof typeof BUILDS];

/** Maps each part of a model to its quantization in the file list. */
export function buildsOf(variant: OnnxVariant, parts: readonly string[]): Record<string, Build> {
  const graphs = namesOf(variant).flatMap((name) => GRAPH.exec(name)?.[1] ?? []);
  const builds = new Map<string, Build>(Object.entries(BUILDS));
  return Object.fromEntries(
    parts.map((part) => {
      const ends = graphs.flatMap((name) => (name.startsWith(part) ? name.slice(part.length) : []));
      return [part, ends.flatMap((end) => builds.get(end) ?? [])[0] ?? 'fp32'];
    }),
  );
}

/** Number of files beside the graph that hold its tensors. */
export function dataFilesOf(variant: TransformersVariant): number {
  const start = `onnx/${graphOf(variant)}.onnx_data`;
  const parts = namesOf(variant).filter((name) => name.startsWith(start)).length;
  return parts || (namesOf(variant).includes('model.safetensors') ? 1 : 0);
}

/** Lists the files in the model's folder, by name. */
const namesOf = (variant: OnnxVariant): string[] => {
  const folder = folderOf(variant);
  return variant.files.flatMap(({ path }) => (path.startsWith(folder) ? [path.slice(folder.length)] : []));
};

/**
 * Validates the configs before transformers.js reads them, which absurd numbers would keep busy forever.
 * @param schemas of the configs, by file name
 * @param graphs that the engine reads
 * @throws ServiceError `weights_corrupt` naming the file and the field, `weights_unavailable` naming one that the
 *   catalog lacks
 */
export async function checkConfigs(
  variant: OnnxVariant,
  context: EngineContext,
  schemas: Readonly<Record<string, z.ZodType>> = { [CONFIG]: configSchema },
  graphs = namesOf(variant).some((name) => GRAPH.test(name)) ? [] : ['onnx/model.onnx'],
): Promise<void> {
  requireFiles(variant, [...Object.keys(schemas), ...TOKENIZER_FILES, ...graphs]);
  for (const [name, schema] of Object.entries(schemas)) {
    const path = folderOf(variant) + name;
    const text = await (await readBounded(path, MAX_JSON_BYTES, context)).text();
    parseJson(text, schema, "is not a model's config", (fault) => corruptFile(path, fault));
  }
}

/**
 * Checks that a variant has the needed files. A graph's name stands for its quantizations, too.
 * @throws ServiceError `weights_unavailable` naming a file that the catalog lacks
 */
export function requireFiles(variant: OnnxVariant, needed: readonly string[]): void {
  const names = namesOf(variant);
  const isListed = (name: string): boolean =>
    names.some((each) => each === name || (GRAPH.test(each) && each.startsWith(name.replace(/\.onnx$/, ''))));
  const missing = needed.find((name) => !isListed(name));
  if (missing === undefined) return;
  const message = `${variant.name} needs the file ${folderOf(variant)}${missing}, which the catalog does not list.`;
  throw serverError('weights_unavailable', message);
}

/** Reads the files of a variant's tokenizer, by name. @throws ServiceError `weights_corrupt` if one is too large */
export async function readTokenizerFiles(
  variant: OnnxVariant,
  context: EngineContext,
): Promise<ReadonlyMap<string, Blob>> {
  const read = async (name: string): Promise<[string, Blob]> => {
    const maxBytes = name === TOKENIZER ? MAX_TOKENIZER_BYTES : MAX_JSON_BYTES;
    return [name, await readBounded(folderOf(variant) + name, maxBytes, context)];
  };
  return new Map(await Promise.all(TOKENIZER_FILES.map(read)));
}

const UNSUPPORTED = /ERROR_CODE: 9|not implemented|could not find an implementation|unsupported|adapter/i;

/** Error if the browser offers no GPU, which may happen after several losses. */
export function noGpu({ name }: OnnxVariant): ServiceError {
  const message = `${name} runs on WebGPU alone, and the browser offers no GPU now. Restart the browser if its GPU has failed, or leave \`backend\` out of the variant.`;
  return serverError('device_unsupported', message);
}

/**
 * Explains why a loaded model failed on a request. A GPU, a lack of memory or a trap may not fail again after a
 * reload; a graph that does not fit its config does.
 */
export function runFailure(error: unknown, variant: OnnxVariant): ServiceError {
  if (error instanceof ServiceError) return error;
  const isTrap = error instanceof Error && error.name === 'RuntimeError';
  const mayPass = variant.backend === 'webgpu' || isTrap || isOutOfMemory(messageOf(error));
  return mayPass ? engineCrashed(error) : graphFailure(error, variant);
}

/** Explains why the runtime cannot load or run the graph. */
export function graphFailure(error: unknown, variant: OnnxVariant): ServiceError {
  if (error instanceof ServiceError) return error;
  const reason = messageOf(error);
  if (isOutOfMemory(reason)) return outOfMemory(variant.name, error);
  if (UNSUPPORTED.test(reason)) {
    const message = `ONNX Runtime cannot run ${variant.name} on ${variant.backend ?? 'wasm'} here: ${brief(reason)}`;
    return serverError('device_unsupported', message, error);
  }
  const graphs = variant.files.flatMap(({ path }) => (path.endsWith('.onnx') ? [path] : []));
  const fault = `cannot be run with its config by ONNX Runtime (${brief(reason)})`;
  return corruptFile(graphs.join(' or '), fault, error);
}

const brief = (message: string): string =>
  message
    .replace(/^.*ERROR_MESSAGE: /s, '')
    .replaceAll(/\s+/g, ' ')
    .slice(0, 200)
    .trim();

async function readBounded(path: string, maxBytes: number, context: EngineContext): Promise<Blob> {
  const file = await context.file(path);
  if (file.size > maxBytes) throw corruptFile(path, `has ${file.size} bytes; the limit is ${maxBytes}`);
  return file;
}
