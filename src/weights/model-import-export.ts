import { z } from '#base/full-zod';

import { weightFile, type WeightFile } from '#catalog';
import { DESCRIPTION_FILE, type ImportedFile, type ModelDescription } from '#protocol';
import { parseJson, requestError } from '#base';
import { wrongHash } from './download/download-errors.ts';
import { hashBlob } from './integrity/integrity-record.ts';
import type { ModelStorage } from './model-storage.ts';
import type { VariantFiles } from './sources/variant-files.ts';
import type { WeightStore } from './weight-store.ts';

const descriptionSchema = z.object({
  version: z.literal(1),
  variant: z.string().min(1).max(200),
  files: z.array(weightFile).min(1).max(10_000),
});

const MAX_DESCRIPTION_BYTES = 4 * 2 ** 20;

export interface ImportExportDependencies {
  store: () => Promise<WeightStore>;
  modelStorage: Pick<ModelStorage, 'files' | 'known' | 'note' | 'withRoom'>;
  variantFiles: Pick<VariantFiles, 'keepFiles'>;
  /** Resolves a variant's name or a model's id to the name of a variant. @throws ServiceError 400 */
  variantOf(target: string): Promise<string>;
}

/**
 * Creates the description that is exported beside a model's files.
 * @throws ServiceError 400 `weights_missing` if the model is not stored completely
 */
export async function exportDescription(
  { store, modelStorage, variantOf }: ImportExportDependencies,
  target: string,
): Promise<ModelDescription> {
  const variant = await variantOf(target);
  const files = await modelStorage.files(variant);
  const missing = await (await store()).missing(files);
  if (files.length === 0 || missing.length > 0) {
    const message = `${variant} is not stored completely: ${missing[0]?.path ?? 'none of its files'} is missing. Load the model, then export it.`;
    throw requestError(400, message, 'weights_missing', 'target');
  }
  return { version: 1, variant, files: files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 })) };
}

/**
 * Imports a weight file or a description.
 * @throws ServiceError 400 naming the file, if it belongs to no model of the catalog; `weights_corrupt`
 *   naming it, if it has other bytes
 */
export async function importFile(
  dependencies: ImportExportDependencies,
  name: string,
  blob: Blob,
  signal: AbortSignal,
): Promise<ImportedFile> {
  if (baseName(name) === DESCRIPTION_FILE) return importDescription(dependencies, name, blob);
  const store = await dependencies.store();
  const { modelStorage } = dependencies;
  const known = await modelStorage.known();
  const hasName = ({ path }: WeightFile): number => Number(baseName(path) === baseName(name));
  const sameSize = known.flatMap(({ files }) => files).filter(({ bytes }) => bytes === blob.size);
  const candidates = sameSize.toSorted((a, b) => hasName(b) - hasName(a));
  const [likely] = candidates;
  if (!likely) {
    const message = `${name} (${blob.size} bytes) does not belong to a model in this site's catalog. Import the model's ${DESCRIPTION_FILE} first, then files of the same version.`;
    throw requestError(400, message, 'unknown_weights', 'import');
  }
  const { sha256, chunks } = await hashBlob(blob, signal);
  const file = candidates.find((candidate) => candidate.sha256 === sha256);
  if (!file) throw wrongHash(likely);
  const holders = known.filter(({ files }) => files.some((each) => each.sha256 === sha256));
  const onBegin = async (): Promise<void> => {
    for (const { variant, files } of holders) await modelStorage.note(variant.name, files);
  };
  const put = () => store.put(file, chunks, blob, { signal, onBegin });
  await modelStorage.withRoom([file], signal, put);
  const completed: string[] = [];
  for (const { variant, files } of holders)
    if ((await store.missing(files)).length === 0) completed.push(variant.name);
  return { path: file.path, completed };
}

async function importDescription(
  { modelStorage, variantFiles }: ImportExportDependencies,
  name: string,
  blob: Blob,
): Promise<ImportedFile> {
  const described = await readDescription(name, blob);
  const entry = (await modelStorage.known()).find(({ variant }) => variant.name === described.variant);
  if (!entry) {
    const message = `${name} describes ${described.variant}, which this site's catalog does not have.`;
    throw requestError(400, message, 'unknown_weights', 'import');
  }
  // The catalog, the manifest and the hub take precedence over an imported file's description.
  if (entry.files.length === 0) await variantFiles.keepFiles(entry.variant, described.files);
  else if (!sameFiles(entry.files, described.files)) {
    const message = `${name} does not match the known files of ${described.variant}. Import files of the same version. If the known ones came from an earlier import, delete ${described.variant} first.`;
    throw requestError(400, message, 'weights_conflict', 'import');
  }
  return { path: null, completed: [] };
}

const baseName = (path: string): string | undefined => path.split('/').at(-1);

function sameFiles(known: readonly WeightFile[], described: readonly WeightFile[]): boolean {
  const identity = ({ path, bytes, sha256 }: WeightFile): string => `${sha256} ${bytes} ${path}`;
  const expected = new Set(known.map(identity));
  return described.length === expected.size && described.every((file) => expected.delete(identity(file)));
}

async function readDescription(name: string, blob: Blob): Promise<ModelDescription> {
  const refuse = (how: string) => requestError(400, `${name} ${how}.`, 'invalid_description', 'import');
  if (blob.size > MAX_DESCRIPTION_BYTES) throw refuse('is too large for the description of a model');
  return parseJson(await blob.text(), descriptionSchema, 'is not a model description', refuse);
}
