import { once } from 'node:events';
import { createServer } from 'node:net';
import { build, preview } from 'vite';

import { CommandError } from '../arguments.ts';
import { messageOf } from '#base';

export interface Address {
  port: number;
  /** Fail if the port is taken, instead of taking the next free one. */
  strictPort: boolean;
  host: string;
}

/**
 * Checks that the server will be able to listen, before minutes go into downloads and a build.
 * @throws CommandError
 */
export async function checkAddress({ port, strictPort, host }: Address): Promise<void> {
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

/** Builds the site in the working folder and serves it. */
export async function serve(
  address: Address,
  signal: AbortSignal,
): Promise<{ url: string; close(): Promise<void> }> {
  console.log('Building the site.');
  await build({ logLevel: 'warn' });
  signal.throwIfAborted();
  const server = await preview({ logLevel: 'warn', preview: { ...address, open: false } }).catch(
    (error: unknown) => {
      throw cannotListen(error, address.port, address.host);
    },
  );
  const url = server.resolvedUrls?.local[0] ?? server.resolvedUrls?.network[0];
  if (url === undefined) throw new CommandError('The server has no address.');
  return { url, close: async () => server.close() };
}
