import { expose, proxy } from 'comlink';

import type { AddedModelRecord } from '#catalog';
import { readAddedModels } from '#database';
import {
  listenDirectly,
  engineLock,
  holdLock,
  keepLock,
  PROTOCOL_VERSION,
  type ServePort,
  type WorkerControl,
} from '#protocol';
import { hasTrustedTypes, trusting } from '#browser';
import { createEngineParts } from './engine-parts.ts';
import { serveLinked, servePort } from './requests/serve-port.ts';
import { setAppScope, type EnginePlugin, type HelperScript } from '#engine-kit';
import { ENGINES } from '#engines';

// onnxruntime-web starts its threads with a plain URL, which Trusted Types would block.
if (hasTrustedTypes()) globalThis.Worker = trusting(Worker);

const control: WorkerControl & HelperScript = {
  async start(options, { decodeAudio, pageModel, loads }) {
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
  },

  ping: () => Promise.resolve(),

  async helper(name, lock) {
    await holdLock(navigator.locks, lock);
    const helper = Object.values<EnginePlugin>(ENGINES).flatMap(({ helpers }) => helpers?.[name] ?? [])[0];
    if (!helper) throw new TypeError(`no engine has the helper ${name}`);
    return proxy(await helper());
  },
};

/**
 * Reads the added models. If the browser denies the database, the site's own models still work.
 * @throws DOMException `TimeoutError` if the database is only slow: saving a shorter list would lose the models in it
 */
async function readAdded(scope: string): Promise<AddedModelRecord[]> {
  try {
    return await readAddedModels(scope);
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw error;
    console.error('localtext: the added models cannot be read', error);
    return [];
  }
}

expose(control);
