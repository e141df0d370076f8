import { expose, proxy } from 'comlink';

import { hasTrustedTypes, trusting } from '#browser';
import type { HelperScript } from '#engine-kit';
import { HELPERS } from '#engines/helpers';
import { keepLock, type WorkerControl } from '#protocol';

// onnxruntime-web starts its threads with a plain URL, which Trusted Types would block.
if (hasTrustedTypes()) globalThis.Worker = trusting(Worker);

/** Imports the engine only on `start()`: a helper worker does not need it. */
const control: WorkerControl & HelperScript = {
  load: () => import('./start-engine.ts').then(() => undefined),

  start: async (...args) => (await import('./start-engine.ts')).startEngine(...args),

  ping: () => Promise.resolve(),

  async helper(name, lock) {
    await keepLock(navigator.locks, lock);
    const helper = await HELPERS[name]?.();
    if (!helper) throw new TypeError(`no engine has the helper ${name}`);
    return proxy(helper);
  },
};

expose(control);
