import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { WeightFile } from '../../../src/catalog/catalog.ts';
import { answerFile, type Behaviour } from '../../support/answer-file.ts';
import { listen, stop } from '../../support/listen.ts';

export type { Behaviour } from '../../support/answer-file.ts';

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

export interface FileServer {
  url: string;
  behaviour: Behaviour;
  /** What differs from `behaviour` in the n-th answer, the first being 0. */
  fault: (answer: number) => Partial<Behaviour>;
  /** The Range headers of all requests. */
  asked: (string | undefined)[];
  /** Bytes of bodies that were sent. */
  sent: number;
  /** Requests under way. */
  open: number;
  /** Most requests under way at once. */
  most: number;
  close(): Promise<void>;
}

/** One file on loopback, whatever path is asked for. */
export async function serveFile(behaviour: Behaviour): Promise<FileServer> {
  const server = createServer(async (request, response) => {
    const answer = { ...result.behaviour, ...result.fault(result.asked.length) };
    result.asked.push(request.headers.range);
    result.open++;
    result.most = Math.max(result.most, result.open);
    response.on('close', () => result.open--);
    const bytes = await answerFile(request, response, answer);
    result.sent += bytes;
  });
  const url = `${await listen(server)}/`;
  const result: FileServer = {
    url,
    behaviour,
    fault: () => ({}),
    asked: [],
    sent: 0,
    open: 0,
    most: 0,
    close: () => stop(server),
  };
  return result;
}
