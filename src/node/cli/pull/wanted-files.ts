import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import {
  rulesOf,
  MANIFEST,
  manifestSchema,
  type Catalog,
  type HubSource,
  type Variant,
  type WeightFile,
  type Manifest,
} from '#catalog';
import { readTextIfAny, replaceFile } from '../../files.ts';
import { messageOf, ServiceError, UNREACHABLE } from '#base';
import { shown } from '../output.ts';
import { commitOf, isCommit, listHubFiles } from '#weights/hub';
import { PullError } from '../arguments.ts';

/** Adds files and commits to the manifest of a models folder; its other entries stay. */
export async function writeManifest(
  folder: string,
  files: readonly WeightFile[],
  commits: Readonly<Record<string, string>>,
): Promise<void> {
  const before = await readManifest(folder);
  const manifest: Manifest = structuredClone(before ?? { version: 1, files: {} });
  for (const { path: name, bytes, sha256 } of files) manifest.files[name] = { bytes, sha256 };
  if (Object.keys(commits).length > 0) manifest.commits = { ...manifest.commits, ...commits };
  if (isDeepStrictEqual(manifest, before)) return;
  await replaceFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`);
}

/** Reads the manifest of a models folder; null: there is none. @throws PullError if it cannot be read */
export async function readManifest(folder: string): Promise<Manifest | null> {
  const path = join(folder, MANIFEST);
  const text = await readTextIfAny(path);
  if (text === null) return null;
  const advice = 'Restore it, or move it elsewhere, and pull again.';
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new PullError(`${shown(path)} is not JSON (${messageOf(error)}). ${advice}`);
  }
  if (!manifestSchema.safeParse(json).success)
    throw new PullError(
      `${shown(path)} is not a manifest of version 1, which this localtext reads. ${advice}`,
    );
  // With the fields of others, which stay.
  return json as Manifest;
}

interface WantedFiles {
  files: WeightFile[];
  /** Commits by repository. */
  commits: Record<string, string>;
}

export interface WantedOptions {
  catalog: Catalog;
  /** Models, for their pinned weights, or variants by name; none: all models. */
  ids: readonly string[];
  /** Folder that the site serves its models from. */
  folder: string;
  /** Address of the model hub. */
  hub: string;
  signal: AbortSignal;
}

/** Lists the files of the requested models and variants. @throws PullError with the available names */
export async function wantedFiles({
  catalog,
  ids,
  folder,
  hub,
  signal,
}: WantedOptions): Promise<WantedFiles> {
  const manifest = await readManifest(folder);
  const models = new Map(catalog.models.map((model) => [model.id, model]));
  const variants = new Map(
    catalog.models.flatMap((model) => model.variants.map((variant) => [variant.name, variant])),
  );
  const files = new Map<string, WeightFile>();
  const commits: Record<string, string> = {};
  for (const id of ids.length > 0 ? ids : models.keys()) {
    const variant = variants.get(id);
    const wanted: Variant[] | undefined = variant ? [variant] : models.get(id)?.variants;
    if (!wanted) {
      const known = `The models are: ${[...models.keys()].join(', ')}. "localtext pull --help" lists their variants.`;
      const inHub = id.includes('/') ? ' A page adds a model of the hub itself: models.add({ hub }).' : '';
      throw new PullError(`There is no model or variant "${id}".${inHub} ${known}`);
    }
    // An `optIn` variant is included only by its own name.
    for (const { files: pinned, optIn } of wanted) {
      if (!variant && optIn) continue;
      for (const file of pinned) files.set(file.path, file);
    }
    if (!variant?.hub) continue;
    const listed = await hubFilesOf(variant, variant.hub, hub, manifest, signal);
    for (const file of listed.files) files.set(file.path, file);
    Object.assign(commits, listed.commits);
  }
  return { files: [...files.values()], commits };
}

/**
 * Lists the files of a variant that is not pinned, from the model hub. The manifest of an earlier pull pins
 * the commit of a branch, and the hash of each file.
 * @throws PullError
 */
async function hubFilesOf(
  variant: Variant,
  source: HubSource,
  hub: string,
  manifest: Manifest | null,
  signal: AbortSignal,
): Promise<WantedFiles> {
  const endpoint = hub.replace(/\/+$/, '');
  const pinned = isCommit(source.revision);
  const recorded = pinned ? undefined : manifest?.commits?.[source.repository];
  // A commit that the catalog names may change with an update of localtext; a file from elsewhere is never
  // pinned.
  const other = rulesOf(variant)?.otherFile?.(variant).path;
  try {
    const revision = recorded ?? (await commitOf({ ...source, name: variant.name, endpoint, signal }));
    const files = await listHubFiles(variant, { ...source, revision }, endpoint, signal);
    for (const file of files) if (!pinned || file.path === other) checkRecorded(file, manifest);
    return { files, commits: pinned ? {} : { [source.repository]: revision } };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PullError) throw error;
    // If the hub did not answer, the error has a cause, and its message is meant for pages.
    if (error instanceof ServiceError && error.cause === undefined) throw new PullError(error.message);
    const why = messageOf(error).replace(UNREACHABLE, 'the connection failed');
    const advice = 'Pull where it can be read, and copy the folder.';
    throw new PullError(`The files of ${variant.name} could not be listed: ${why} ${advice}`);
  }
}

function checkRecorded({ path, sha256, url }: WeightFile, manifest: Manifest | null): void {
  const recorded = manifest?.files[path];
  if (!recorded || recorded.sha256 === sha256) return;
  const message = `${path} is not the file that was pulled before: ${url} now has SHA-256 ${sha256}, the manifest ${recorded.sha256}. If you trust the new one, delete the folder of ${path} and its entries in manifest.json, and pull again.`;
  throw new PullError(message);
}
