import { serverError } from '#base';
import { z } from '#base/full-zod';
import { type EngineRules, httpUrl, proportional, type VariantBase, weightPath } from '#catalog/rules';

/** Chat in MLC's web-llm on WebGPU, from a folder with `mlc-chat-config.json` and a model library compiled to WASM. */
export interface WebLlmVariant extends VariantBase {
  engine: 'web-llm';
  /** Compiled model library: an absolute URL, or a path relative to the models folder. */
  library: string;
  /** Hidden start of every reply: empty reasoning (`<think>…</think>`), so that the model reasons only on request. */
  replyPrefix?: string;
}

export const CHAT_CONFIG = 'mlc-chat-config.json';

/** Folder of the model, relative to the models folder, without a trailing slash. */
export function folderOf({ hub, files, name }: WebLlmVariant): string {
  if (hub) return hub.folder;
  const config = files.find(({ path }) => path.endsWith(`/${CHAT_CONFIG}`));
  if (config) return config.path.slice(0, -CHAT_CONFIG.length - 1);
  throw serverError('weights_unavailable', `The catalog lists no ${CHAT_CONFIG} for ${name}.`);
}

/** Path of the model library. A library with its own URL is stored beside the model's files. */
export function libraryPath(variant: WebLlmVariant): string {
  if (!URL.canParse(variant.library)) return variant.library;
  return `${folderOf(variant)}/${new URL(variant.library).pathname.split('/').pop() || 'library.wasm'}`;
}

export const rules: EngineRules<WebLlmVariant> = {
  engine: 'web-llm',
  fields: {
    library: z.union([httpUrl, weightPath], { error: 'must be a URL, or a path below the models folder' }),
    replyPrefix: z.string().optional(),
  },
  kinds: () => ['chat'],
  needsGpu: true,
  hubFiles: {
    noun: 'MLC model',
    names: /^(mlc-chat-config\.json|tensor-cache\.json|tokenizer\.(json|model)|params_shard_\d+\.bin)$/,
  },
  otherFile: (variant) => ({
    path: libraryPath(variant),
    ...(URL.canParse(variant.library) && { url: variant.library }),
  }),
  // Not measured.
  memory: proportional(0, 1.2),
};
