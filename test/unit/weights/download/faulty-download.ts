import { download } from '../../../../src/weights/download/download.ts';
import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import { CHUNK_BYTES } from '../../../../src/weights/backends/storage-backend.ts';
import { fileOf, type FileServer, serveFile, someBytes } from '../file-server.ts';

export const body = someBytes(3 * CHUNK_BYTES + 1000);
export const file = fileOf(body);

export const serve = () => serveFile({ body, etag: '"new"' });

export async function fetchWeights(
  backend: MemoryBackend,
  { url }: FileServer,
  idleTimeoutMs: number,
): Promise<void> {
  const signal = new AbortController().signal;
  await download(backend, file, { url, name: 'x', signal, idleTimeoutMs, onProgress: () => undefined });
}

export const stored = async (backend: MemoryBackend): Promise<Buffer> =>
  Buffer.from((await (await backend.read('x'))?.arrayBuffer()) ?? new ArrayBuffer(0));
