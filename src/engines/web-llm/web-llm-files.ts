import { z } from '#base/full-zod';

import { ClientText, isBracketed, isControlToken } from '#chat-template';
import { CHAT_CONFIG, folderOf, libraryPath, type WebLlmVariant } from './rules.ts';
import type { EngineContext } from '#engine-kit';
import { corruptFile, parseJson } from '#base';
import type { ReadArtifact } from './internals/artifact-cache.ts';

const TENSORS = 'tensor-cache.json';

/** A place in web-llm's templates, which it also deletes in a message: a special token around it would become whole. */
const FUNCTIONS = '{function_string}';

/** Fields of `mlc-chat-config.json` that are used here. web-llm reads the others. */
const chatConfigSchema = z.object({
  vocab_size: z.int().positive(),
  context_window_size: z.int(),
  sliding_window_size: z.int().default(-1),
  tokenizer_files: z.array(z.string()).min(1),
  conv_template: z.object({
    system_template: z.string().optional(),
    roles: z.record(z.string(), z.string()),
    role_templates: z.record(z.string(), z.string()).optional(),
    seps: z.array(z.string()).min(1),
    stop_token_ids: z.array(z.int()),
  }),
});

/** MLC's list of weight shards. `dataPath` is a file name in the same folder. */
const tensorCacheSchema = z.object({
  records: z
    .array(
      z.object({
        dataPath: z.string().regex(/^[\w.-]+$/, 'must be a plain file name'),
        nbytes: z.int().positive(),
      }),
    )
    .min(1),
});

export type MlcChatConfig = z.output<typeof chatConfigSchema>;

const flag = z.boolean().default(false);
/** The tokenizer's special tokens. */
const tokenizerSchema = z.object({
  added_tokens: z.array(z.object({ content: z.string(), special: flag, normalized: flag })).default([]),
  normalizer: z.unknown().default(null),
});
const TOKENIZER = 'tokenizer.json';

export interface ModelFiles {
  chatConfig: MlcChatConfig;
  /** Total size of all shards. */
  weightBytes: number;
  /** Keeps clients' texts from becoming special tokens, and others that mark turns. */
  clientText: ClientText;
  read: ReadArtifact;
}

/** File name under which web-llm reads the model library, beside the model's files. */
export const LIBRARY = 'model-library.wasm';

/**
 * Opens and checks a model's files before a GPU is used: the two JSON files and the library's
 * first bytes; shard sizes on reading.
 */
export async function openModelFiles(variant: WebLlmVariant, context: EngineContext): Promise<ModelFiles> {
  const folder = folderOf(variant);
  const opened = new Map<string, Promise<Blob>>();
  const sizes = new Map<string, number>();
  const read = async (name: string): Promise<Blob> => {
    context.signal.throwIfAborted();
    const path = name === LIBRARY ? libraryPath(variant) : `${folder}/${name}`;
    let blob = opened.get(name);
    if (!blob) opened.set(name, (blob = context.file(path)));
    const { size } = await blob;
    const expected = sizes.get(name);
    if (expected !== undefined && expected !== size)
      throw corruptFile(path, `has ${size} bytes, but ${TENSORS} says ${expected}`);
    return blob;
  };

  const chatConfig = await parse(`${folder}/${CHAT_CONFIG}`, await read(CHAT_CONFIG), chatConfigSchema);
  const { records } = await parse(`${folder}/${TENSORS}`, await read(TENSORS), tensorCacheSchema);
  for (const { dataPath, nbytes } of records) sizes.set(dataPath, nbytes);
  const start = new Uint8Array(await (await read(LIBRARY)).slice(0, 4).arrayBuffer());
  if (String.fromCharCode(...start) !== '\0asm')
    throw corruptFile(libraryPath(variant), 'is not a WebAssembly file');
  // A tokenizer.model (SentencePiece) finds no control tokens in a text.
  const { added_tokens: added, normalizer } = chatConfig.tokenizer_files.includes(TOKENIZER)
    ? await parse(`${folder}/${TOKENIZER}`, await read(TOKENIZER), tokenizerSchema)
    : { added_tokens: [], normalizer: null };
  const {
    system_template: system = '',
    roles,
    role_templates: templates = {},
    seps,
  } = chatConfig.conv_template;
  const written = [system, ...Object.values(roles), ...Object.values(templates), ...seps].join('\n');
  const reserved = added.filter(
    ({ content, special }) =>
      special || isControlToken(content) || (isBracketed(content) && written.includes(content)),
  );
  return {
    chatConfig,
    weightBytes: records.reduce((sum, { nbytes }) => sum + nbytes, 0),
    clientText: new ClientText(
      [FUNCTIONS, ...reserved.map(({ content }) => content)],
      reserved.some(({ normalized }) => normalized) && /"NFK[CD]"/.test(JSON.stringify(normalizer)),
    ),
    read,
  };
}

const parse = async <T>(path: string, blob: Blob, schema: z.ZodType<T>): Promise<T> =>
  parseJson(await blob.text(), schema, 'is not what MLC writes', (fault) => corruptFile(path, fault));
