import type { Variant, WeightFile } from '../../catalog/catalog.ts';
import { EngineError } from '../../engine/engine-error.ts';
import { libraryPath } from '../../engine/engines/web-llm/model-paths.ts';
import { describeLibrary, listHubFiles } from '../../engine/weights/hub.ts';
import { PullError } from './pull-error.ts';

/**
 * The files of a variant that is not pinned, as the model hub lists them now.
 * @throws PullError
 */
export async function hubFilesOf(variant: Variant, hub: string, signal: AbortSignal): Promise<WeightFile[]> {
  if (!variant.hub) return [];
  try {
    const files = await listHubFiles(variant, variant.hub, hub.replace(/\/+$/, ''), signal);
    if (variant.engine === 'web-llm' && URL.canParse(variant.library)) {
      files.push(await describeLibrary(libraryPath(variant), variant.library, signal));
    }
    return files;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof EngineError) throw new PullError(error.message);
    throw new PullError(
      `The files of ${variant.name} could not be listed: ${hub} is not reachable from here. Pull where it is, and copy the folder.`,
    );
  }
}
