import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { build, preview } from 'vite';

import { CommandError } from '../arguments.ts';
import { messageOf } from '../../../util/printable.ts';

const ANSWER_TIMEOUT_MS = 10_000;

export interface ServeOptions {
  port: number;
  /** Fail if the port is taken, instead of taking the next free one. */
  strictPort: boolean;
  host: string;
  signal: AbortSignal;
}

/**
 * Whether the server will be able to listen, found out before minutes go into downloads and a build.
 * @throws CommandError
 */
export async function checkAddress({ port, strictPort, host }: Omit<ServeOptions, 'signal'>): Promise<void> {
  const probe = createServer();
  try {
    probe.listen(strictPort ? port : 0, host);
    await once(probe, 'listening');
  } catch (error) {
    throw cannotListen(error, port, host);
  }
  probe.close();
  await once(probe, 'close');
}

function cannotListen(error: unknown, port: number, host: string): CommandError {
  const why = messageOf(error);
  return new CommandError(
    /in use/i.test(why)
      ? `Port ${port} is in use. Name another with --port, or leave --port out to have a free one found.`
      : `The server cannot listen on ${host}, port ${port}: ${why}`,
  );
}

/** Builds the site in the working folder and serves it. Resolves when its URL answers. */
export async function serve(options: ServeOptions): Promise<{ url: string; close(): Promise<void> }> {
  const { port, strictPort, host, signal } = options;
  console.log('Building the site.');
  await build({ logLevel: 'warn' });
  signal.throwIfAborted();
  const server = await preview({ logLevel: 'warn', preview: { port, strictPort, host, open: false } }).catch(
    (error: unknown) => {
      throw cannotListen(error, port, host);
    },
  );
  const url = server.resolvedUrls?.local[0] ?? server.resolvedUrls?.network[0];
  if (url === undefined) throw new CommandError('The server has no address.');
  await answers(url, signal);
  return { url, close: async () => server.close() };
}

async function answers(url: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + ANSWER_TIMEOUT_MS;
  for (;;) {
    const fault = await fetch(url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    }).then(
      (response) => (response.ok ? null : `status ${response.status}`),
      (error: unknown) => String(error),
    );
    if (fault === null) return;
    signal.throwIfAborted();
    if (Date.now() > deadline) throw new CommandError(`The server does not answer at ${url}: ${fault}`);
    await delay(100, undefined, { signal });
  }
}
