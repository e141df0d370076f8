import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WeightFile } from '../../../../src/catalog/catalog.ts';

/** Bytes that differ from place to place. */
export function someBytes(length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 4)
    bytes.writeUInt32LE((at * 2654435761) >>> 0, Math.min(at, length - 4));
  return bytes;
}

export const fileOf = (bytes: Buffer, path = 'm/a.bin'): WeightFile => ({
  path,
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

export interface Behaviour {
  body: Buffer;
  etag?: string;
  /** Answers the whole file whatever is asked for. */
  ignoresRange?: boolean;
  /** Cuts the connection after so many bytes of an answer. */
  cutAfter?: number;
  /** Sends so many bytes of an answer, and then nothing; the connection stays. */
  stallAfter?: number;
  /** Waits before each answer, in milliseconds. */
  delayMs?: number;
  status?: number;
}

export interface FileServer {
  url: string;
  behaviour: Behaviour;
  /** The Range headers of all requests. */
  asked: (string | undefined)[];
  /** Most requests under way at once. */
  most: number;
  close(): void;
}

/** One file on loopback, whatever path is asked for. */
export async function serveFile(behaviour: Behaviour): Promise<FileServer> {
  let open = 0;
  const server = createServer(async (request, response) => {
    const { body, etag, ignoresRange, cutAfter, stallAfter, delayMs = 0, status } = result.behaviour;
    result.asked.push(request.headers.range);
    open++;
    result.most = Math.max(result.most, open);
    response.on('close', () => open--);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    const range = ignoresRange ? null : /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const from = range ? Number(range[1]) : 0;
    const to = range ? Math.min(Number(range[2]) + 1, body.length) : body.length;
    const part = body.subarray(from, to);
    const headers = {
      'content-length': part.length,
      ...(etag !== undefined && { etag }),
      ...(range && { 'content-range': `bytes ${from}-${to - 1}/${body.length}` }),
    };
    response.writeHead(status ?? (range ? 206 : 200), headers);
    if (stallAfter !== undefined) response.write(part.subarray(0, stallAfter));
    else if (cutAfter === undefined || cutAfter >= part.length) response.end(part);
    else response.write(part.subarray(0, cutAfter), () => setTimeout(() => response.destroy(), 50));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const result: FileServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    behaviour,
    asked: [],
    most: 0,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return result;
}
