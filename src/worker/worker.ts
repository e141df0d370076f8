import { expose, proxy } from 'comlink';

import type { AddedModelRecord } from '../catalog/added-models.ts';
import { readAddedModels } from '../database/database.ts';
import type { ServePort } from '../protocol/discovery.ts';
import { engineLock, holdLock } from '../protocol/locks.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { WorkerControl } from '../protocol/worker-control.ts';
import { hasTrustedTypes, trusting } from '../util/trusted-urls.ts';
import { EngineHost } from './engine-host.ts';
import { serveLinked } from './requests/serve-port.ts';
import type { OnnxHost } from './runtimes/onnx/onnx-worker.ts';
import type { ImageHost } from './runtimes/images/image-worker.ts';
import { ENGINES } from './runtimes/registry.ts';
import type { TemplateHost } from './runtimes/template/template-worker.ts';
import type { WhisperHost } from './runtimes/whisper/whisper-worker.ts';

// onnxruntime-web starts its threads by a plain URL.
if (hasTrustedTypes()) globalThis.Worker = trusting(Worker);

const control: WorkerControl & OnnxHost & WhisperHost & TemplateHost & ImageHost = {
  async start(options, pageFiles, decodeAudio, builtIn) {
    if (options.version !== PROTOCOL_VERSION) {
      throw new Error(`protocol_mismatch: the engine worker speaks version ${PROTOCOL_VERSION}`);
    }
    // The lock first: an asker watches it as soon as its port is accepted.
    await holdLock(navigator.locks, engineLock(options.epoch));
    const added = await readAdded(options.scope);
    const page = { decodeAudio, builtIn };
    const host = new EngineHost({ ...options, engines: ENGINES, added, page, pageFiles });
    addEventListener('message', ({ data, ports: [port] }: MessageEvent<ServePort | undefined>) => {
      if (data?.type === 'localtext:serve' && port) serveLinked(port, host);
    });
  },

  ping: () => Promise.resolve(),

  async onnxWorker(lock) {
    await holdLock(navigator.locks, lock);
    return proxy((await import('./runtimes/onnx/onnx-worker.ts')).onnxWorker);
  },

  async templateWorker(lock) {
    await holdLock(navigator.locks, lock);
    return proxy((await import('./runtimes/template/template-worker.ts')).templateWorker);
  },

  async imageWorker(lock) {
    await holdLock(navigator.locks, lock);
    return proxy((await import('./runtimes/images/image-worker.ts')).imageWorker);
  },

  async whisperWorker(lock) {
    await holdLock(navigator.locks, lock);
    return proxy((await import('./runtimes/whisper/whisper-worker.ts')).whisperWorker);
  },
};

/** Where the browser refuses the database, the site's own models still answer. */
async function readAdded(scope: string): Promise<AddedModelRecord[]> {
  try {
    return await readAddedModels(scope);
  } catch (error) {
    console.error('localtext: the added models cannot be read', error);
    return [];
  }
}

expose(control);
