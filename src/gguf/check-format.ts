import type { WeightFile } from '#catalog';
import { corruptFile, type ServiceError } from '#base';
import { FormatError, readHeader, startOfBlob } from './byte-cursor.ts';
import { openGguf } from './open-gguf.ts';
import { readSafetensors } from './read-safetensors.ts';

const CHECKS: [RegExp, (blob: Blob) => Promise<unknown>][] = [
  [/\.gguf$/i, openGguf],
  [/\.safetensors$/i, (blob) => readHeader(startOfBlob(blob), readSafetensors)],
];

/**
 * Checks a file's header before an engine reads it. A file with the catalog's hash may still be malformed, and
 * engines' errors do not name the file.
 * @throws ServiceError `weights_corrupt` naming the file
 */
export async function checkFormat(file: WeightFile, blob: Blob): Promise<void> {
  const [, check] = CHECKS.find(([pattern]) => pattern.test(file.path)) ?? [];
  if (!check) return;
  try {
    await check(blob);
  } catch (error) {
    throw error instanceof FormatError ? corruptFile(file.path, error.message) : error;
  }
}

/** Finds the first `.json` file that is not JSON. Used after a load that failed without naming a file. */
export async function findBrokenJson(
  files: readonly { file: WeightFile; blob: Blob }[],
): Promise<ServiceError | null> {
  for (const { file, blob } of files) {
    if (!file.path.endsWith('.json')) continue;
    const text = await blob.text().catch(() => null);
    if (text === null) continue;
    try {
      JSON.parse(text);
    } catch {
      return corruptFile(file.path, 'is not JSON, or cut short');
    }
  }
  return null;
}
