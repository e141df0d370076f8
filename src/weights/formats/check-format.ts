import type { WeightFile } from '../../catalog/catalog.ts';
import { EngineError } from '../../protocol/engine-error.ts';
import { checkGguf } from './check-gguf.ts';
import { EndOfHead, Fault, Head } from './byte-cursor.ts';
import { checkSafetensors } from './check-safetensors.ts';

/** Enough for most heads: a vocabulary takes some megabytes. */
const FIRST_BYTES = 8 * 2 ** 20;
const LONGEST_HEAD = 128 * 2 ** 20;

const CHECKS: [RegExp, (head: Head) => void][] = [
  [/\.gguf$/i, checkGguf],
  [/\.safetensors$/i, checkSafetensors],
];

/**
 * Looks at the head of a file before an engine does: that its bytes are those of the catalog does not make them sound, and
 * an engine at best says nothing of use about one that is not.
 * @throws EngineError `weights_corrupt` naming the file
 */
export async function checkFormat(file: WeightFile, blob: Blob): Promise<void> {
  const [, check] = CHECKS.find(([pattern]) => pattern.test(file.path)) ?? [];
  if (!check) return;
  try {
    for (let length = FIRST_BYTES; ;) {
      const bytes = new Uint8Array(await blob.slice(0, length).arrayBuffer());
      const needed = tryCheck(check, new Head(bytes, blob.size));
      if (needed === null) return;
      if (needed > LONGEST_HEAD) throw new Fault(`has a head of more than ${LONGEST_HEAD} bytes`);
      length = Math.max(needed, 2 * length);
    }
  } catch (error) {
    throw error instanceof Fault ? unsound(file, error) : error;
  }
}

/** null: it is sound; else how many bytes of it are needed to tell. */
function tryCheck(check: (head: Head) => void, head: Head): number | null {
  try {
    check(head);
    return null;
  } catch (error) {
    if (error instanceof EndOfHead) return error.needed;
    throw error;
  }
}

/** After a load that failed without saying of what: the first file that is no JSON, and should be. */
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
      return unsound(file, new Fault('is not JSON, or cut short'));
    }
  }
  return null;
}

function unsound({ path }: WeightFile, { message }: Fault): EngineError {
  return new EngineError({
    code: 'weights_corrupt',
    message: `The weight file ${path} ${message}. Put the right file into the models folder, or correct the catalog.`,
  });
}
