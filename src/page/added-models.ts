import type { AddedModel } from '#catalog';
import { readSetting } from '#database';
import { offerFiles, type ModelSource, type HubFile, type LoadProgress } from '#protocol';
import { LocaltextError } from './localtext-error.ts';
import { withStorage } from './requirements.ts';

/**
 * A chat or embedding model as a GGUF file, or all files of a split one; or a URL and its SHA-256; or a model
 * of a repository of the model hub.
 */
export type AddSource = File | Iterable<File> | { url: string; sha256: string } | HubFile;

export interface AddOptions {
  /** Value of `model` in requests. Default: derived from the model's name. */
  id?: string;
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

export async function listModels(scope: string): Promise<AddedModel[]> {
  const added = await withStorage(() => readSetting(scope, 'added-models'));
  return added?.map(({ model }) => model) ?? [];
}

const SOURCE_RULE =
  'The source of a model must be a File, several Files, { url, sha256 } or { hub }: a path or URL alone is not enough.';

/** Names a source for the engine, which can read its files while `ask` runs. */
export async function withSource<T>(
  source: AddSource,
  scope: string,
  ask: (source: ModelSource) => Promise<T>,
): Promise<T> {
  if (Object(source) !== source) throw new LocaltextError('invalid_value', SOURCE_RULE);
  if (source instanceof File || Symbol.iterator in source) {
    const files = source instanceof File ? [source] : [...source];
    const ticket = crypto.randomUUID();
    const end = offerFiles(scope, ticket, files);
    return ask({ type: 'files', names: files.map(({ name }) => name), ticket }).finally(end);
  }
  if ('hub' in source) return ask(hubSource(source));
  const { url, sha256 } = source;
  // The engine refuses one that cannot be parsed.
  const absolute = URL.canParse(url, document.baseURI) ? new URL(url, document.baseURI).href : url;
  return ask({ type: 'url', url: absolute, sha256 });
}

export const hubSource = ({ hub, file, revision }: HubFile) =>
  ({ type: 'hub', repository: hub, file: file ?? null, revision: revision ?? null }) as const;
