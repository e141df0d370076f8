import type { WeightFile } from '../../catalog/catalog.ts';
import { EngineError } from '../../protocol/engine-error.ts';
import { checkGguf } from './check-gguf.ts';
import { ByteCursor, FormatError, NeedMoreBytes } from './byte-cursor.ts';
import { checkSafetensors } from './check-safetensors.ts';

/** Enough for most headers: a vocabulary takes some megabytes. */
const FIRST_BYTES = 8 * 2 ** 20;
const MAX_HEADER_BYTES = 128 * 2 ** 20;

const CHECKS: [RegExp, (cursor: ByteCursor) => void][] = [
  [/\.gguf$/i, checkGguf],
  [/\.safetensors$/i, checkSafetensors],
];

/**
 * Checks the header of a file before an engine reads it: bytes with the catalog's hash may still be malformed, and
 * an engine's own error does not name the file.
 * @throws EngineError `weights_corrupt` naming the file
 */
export async function checkFormat(file: WeightFile, blob: Blob): Promise<void> {
  const [, check] = CHECKS.find(([pattern]) => pattern.test(file.path)) ?? [];
  if (!check) return;
  try {
    for (let length = FIRST_BYTES; ;) {
      const bytes = new Uint8Array(await blob.slice(0, length).arrayBuffer());
      const needed = tryCheck(check, new ByteCursor(bytes, blob.size));
      if (needed === null) return;
      if (needed > MAX_HEADER_BYTES)
        throw new FormatError(`has a header of more than ${MAX_HEADER_BYTES} bytes`);
      length = Math.max(needed, 2 * length);
    }
  } catch (error) {
    throw error instanceof FormatError ? corruptFile(file, error) : error;
  }
}

/** null: valid; otherwise the number of bytes needed to decide. */
function tryCheck(check: (cursor: ByteCursor) => void, cursor: ByteCursor): number | null {
  try {
    check(cursor);
    return null;
  } catch (error) {
    if (error instanceof NeedMoreBytes) return error.needed;
    throw error;
  }
}

/** After a load that failed without naming a file: the first `.json` file that is not JSON. */
export async function findBrokenJson(
  files: readonly { file: WeightFile; blob: Blob }[],
): Promise<EngineError | null> {
  for (const { file, blob } of files) {
    if (!file.path.endsWith('.json')) continue;
    const text = await blob.text().catch(() => null);
    if (text === null) continue;
    try {
      JSON.parse(text);
    } catch {
      return corruptFile(file, new FormatError('is not JSON, or cut short'));
    }
  }
  return null;
}

function corruptFile({ path }: WeightFile, { message }: FormatError): EngineError {
  return new EngineError({
    code: 'weights_corrupt',
    message: `The weight file ${path} ${message}. Put the right file into the models folder, or correct the catalog.`,
  });
}
