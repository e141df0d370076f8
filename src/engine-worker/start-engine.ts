import type { AddedModelRecord } from '#catalog';
import { readSetting } from '#database';
import {
  listenDirectly,
  engineLock,
  keepLock,
  PROTOCOL_VERSION,
  type ServePort,
  type WorkerControl,
} from '#protocol';
import { createEngineParts } from './engine-parts.ts';
import { serveLinked, servePort } from './requests/serve-port.ts';
import { setAppScope } from '#engine-kit';
import { ENGINES } from '#engines';

export const startEngine: WorkerControl['start'] = async (options, { decodeAudio, pageModel, loads }) => {
  if (options.version !== PROTOCOL_VERSION)
    throw new Error(`protocol_mismatch: the engine worker speaks version ${PROTOCOL_VERSION}`);
  // Hold the lock before ports are taken: requesters then watch it.
  await keepLock(navigator.locks, engineLock(options.epoch));
  setAppScope(options.scope);
  const added = await readAdded(options.scope);
  // Comlink's proxy cannot be spread, as it has no own properties.
  const page = { decodeAudio, pageModel, loads };
  const parts = createEngineParts({ ...options, engines: ENGINES, added, page });
  addEventListener('message', ({ data, ports: [port] }: MessageEvent<ServePort | undefined>) => {
    if (data?.type === 'localtext:serve' && port) serveLinked(port, parts);
  });
  listenDirectly(parts.scope, (port) => servePort(port, parts));
};

/**
 * Reads the added models. If the browser denies the database, the site's own models still work.
 * @throws DOMException `TimeoutError` if the database is only slow: saving a shorter list would lose the models in it
 */
async function readAdded(scope: string): Promise<AddedModelRecord[]> {
  try {
    return (await readSetting(scope, 'added-models')) ?? [];
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw error;
    console.error('localtext: the added models cannot be read', error);
    return [];
  }
}
