import type { WeightFile } from '#catalog';
import type { StorageBackend } from '../backends/storage-backend.ts';
import { downloadFailed, wrongHash } from './download-errors.ts';
import { DownloadTry, type TryOptions } from './download-try.ts';
import { discardPartial, openPartial } from './partial-file.ts';

export interface DownloadOptions extends TryOptions {
  /** Name of the file in the backend. */
  name: string;
}

/**
 * Downloads a file to the backend and hashes it as it arrives. Resumes after the stored bytes, and uses several
 * connections if the server supports ranges. After an abort or a failure the received bytes and their checkpoint
 * remain. The caller removes the checkpoint once the file is recorded as complete.
 * @returns the SHA-256 of each chunk, in hex
 * @throws ServiceError; the signal's reason
 */
export async function download(
  backend: StorageBackend,
  file: WeightFile,
  options: DownloadOptions,
): Promise<string[]> {
  let keptBytes = 0;
  try {
    for (let rounds = 0, sendsRanges = true; rounds < 2; rounds++) {
      const partial = await openPartial(backend, options.name, file.bytes);
      const outcome = await new DownloadTry(partial, file, options, sendsRanges).run().finally(() => {
        keptBytes = partial.storedBytes;
      });
      if (typeof outcome === 'object') return outcome.chunks;
      await discardPartial(backend, options.name);
      if (outcome === 'wrong') break;
      sendsRanges = outcome !== 'misplaced';
    }
    throw wrongHash(file);
  } catch (error) {
    options.signal.throwIfAborted();
    throw downloadFailed(file, error, keptBytes);
  }
}
