import type { HubSource, Variant, WeightFile } from '../../catalog/catalog.ts';
import type { Manifest } from '../../catalog/manifest.ts';
import { EngineError } from '../../protocol/engine-error.ts';
import { libraryPath } from '../../weights/sources/mlc-paths.ts';
import { commitOf, isCommit, listHubFiles } from '../../weights/sources/hub-source.ts';
import { PullError } from './pull-error.ts';

export interface HubFiles {
  files: WeightFile[];
  /** By repository. */
  commits: Record<string, string>;
}

/**
 * The files of a variant that is not pinned, as the model hub lists them. What the manifest recorded of an earlier
 * pull holds: the commit of a branch, and the hash of each file.
 * @throws PullError
 */
export async function hubFilesOf(
  variant: Variant,
  hub: string,
  manifest: Manifest | null,
  signal: AbortSignal,
): Promise<HubFiles> {
  if (!variant.hub) return { files: [], commits: {} };
  try {
    return await list(variant, variant.hub, hub.replace(/\/+$/, ''), manifest, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PullError) throw error;
    if (error instanceof EngineError) throw new PullError(error.message);
    throw new PullError(
      `The files of ${variant.name} could not be listed: ${hub} is not reachable from here. Pull where it is, and copy the folder.`,
    );
  }
}

async function list(
  variant: Variant,
  source: HubSource,
  endpoint: string,
  manifest: Manifest | null,
  signal: AbortSignal,
): Promise<HubFiles> {
  const pinned = isCommit(source.revision);
  const recorded = pinned ? undefined : manifest?.commits?.[source.repository];
  const revision = recorded ?? (await commitOf(variant, source, endpoint, signal));
  const files = await listHubFiles(variant, { ...source, revision }, endpoint, signal);
  // A commit that the catalog names may change with an update of localtext; a library is never pinned.
  const library = variant.engine === 'web-llm' ? libraryPath(variant) : null;
  for (const file of files) if (!pinned || file.path === library) checkRecorded(file, manifest);
  return { files, commits: pinned ? {} : { [source.repository]: revision } };
}

function checkRecorded({ path, sha256, url }: WeightFile, manifest: Manifest | null): void {
  const recorded = manifest?.files[path];
  if (!recorded || recorded.sha256 === sha256) return;
  throw new PullError(
    `${path} is not the file that was pulled before: ${url} now has SHA-256 ${sha256}, the manifest ${recorded.sha256}. If you trust the new one, delete the folder of ${path} and its entries in manifest.json, and pull again.`,
  );
}
