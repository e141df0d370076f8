import type { WebLlmVariant } from '../../catalog/catalog.ts';
import { serverError } from '../../errors/service-error.ts';

export const CHAT_CONFIG = 'mlc-chat-config.json';

/** Folder of the model below the models folder, without a slash at its end. */
export function folderOf({ hub, files, name }: WebLlmVariant): string {
  if (hub) return hub.folder;
  const config = files.find(({ path }) => path.endsWith(`/${CHAT_CONFIG}`));
  if (config) return config.path.slice(0, -CHAT_CONFIG.length - 1);
  throw serverError('weights_unavailable', `The catalog lists no ${CHAT_CONFIG} for ${name}.`);
}

/** A library with its own URL is kept beside the model's files. */
export function libraryPath(variant: WebLlmVariant): string {
  if (!URL.canParse(variant.library)) return variant.library;
  return `${folderOf(variant)}/${new URL(variant.library).pathname.split('/').pop() || 'library.wasm'}`;
}
