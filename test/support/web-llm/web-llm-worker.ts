import { expose } from 'comlink';

import type { VariantOf } from '../../../src/catalog/catalog.ts';
import { detectDevice } from '../../../src/engine-kit/device.ts';
import type { Engine } from '../../../src/engine-kit/engine.ts';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { loadWebLlm } from '../../../src/engines/web-llm/load-web-llm.ts';
import type { ChatEvent, ChatJob } from '../../../src/jobs/chat.ts';

/** Source of a model's file: given here, or by URL. */
export type FileSource = { text: string } | { url: string };

export interface Failure {
  code: string | null;
  message: string;
}

export interface Loaded extends Failure {
  /** null: it could not be loaded, and `message` says why. */
  fingerprint: string | null;
  /** Phases in the order in which they began. */
  phases: string[];
}

export interface Abort {
  /** Moment of the abort: after so many deltas, or milliseconds. */
  afterDeltas?: number;
  afterMs?: number;
}

/** Entries by the variant's name. */
const engines = new Map<string, Engine<'chat'>>();

/** Deltas of the last chat that began. */
let deltas = 0;

/** The adapter in a worker, as in the product, without what lies around it there. */
const api = {
  device: () => detectDevice(),

  /** Files by path below the models folder; paths ending in `/` stand for all in that folder. */
  async load(variant: VariantOf<'web-llm'>, files: Record<string, FileSource>): Promise<Loaded> {
    const phases = new Set<string>();
    try {
      const engine = await loadWebLlm(variant, {
        file: (path) => read(path, files),
        wasm: (name) => name,
        onProgress: ({ phase }) => phases.add(phase),
        signal: new AbortController().signal,
      });
      engines.set(variant.name, engine);
      return { fingerprint: engine.fingerprint, phases: [...phases], code: null, message: '' };
    } catch (error) {
      return { fingerprint: null, phases: [...phases], ...failure(error) };
    }
  },

  /** All events of one chat with the model of this name. */
  async chat(
    name: string,
    job: ChatJob,
    { afterDeltas = Infinity, afterMs }: Abort = {},
  ): Promise<{ events: ChatEvent[]; failure: Failure | null; milliseconds: number }> {
    const controller = new AbortController();
    const events: ChatEvent[] = [];
    const began = performance.now();
    const result = (error: unknown) => ({
      events,
      failure: error === null ? null : failure(error),
      milliseconds: performance.now() - began,
    });
    const abort = (): void => controller.abort(new Error('aborted by the test'));
    const timer = afterMs === undefined ? undefined : setTimeout(abort, afterMs);
    deltas = 0;
    try {
      const engine = engines.get(name);
      if (!engine) throw new Error('no model is loaded');
      for await (const event of engine.run(job, controller.signal)) {
        events.push(event);
        if (event.type === 'delta' && ++deltas >= afterDeltas) abort();
      }
      return result(null);
    } catch (error) {
      return result(error);
    } finally {
      clearTimeout(timer);
    }
  },

  deltas: () => deltas,

  async unload(name: string): Promise<void> {
    await engines.get(name)?.unload();
    engines.delete(name);
  },

  /** Names of the caches that exist: web-llm must have made none. */
  caches: () => caches.keys(),
};

export type WebLlmApi = typeof api;

async function read(path: string, files: Record<string, FileSource>): Promise<Blob> {
  const folder = Object.keys(files).find((key) => key.endsWith('/') && path.startsWith(key));
  const source = files[path] ?? (folder === undefined ? undefined : files[folder]);
  if (!source)
    throw new ServiceError({
      code: 'weights_unavailable',
      message: `The weight file ${path} could not be fetched.`,
    });
  if ('text' in source) return new Blob([source.text]);
  const url = files[path] ? source.url : new URL(path.slice(folder?.length), source.url).href;
  const response = await fetch(url);
  if (!response.ok)
    throw new ServiceError({ code: 'weights_unavailable', message: `${url}: ${response.status}` });
  return response.blob();
}

function failure(error: unknown): Failure {
  if (error instanceof ServiceError) {
    if (error.cause) console.error(error.cause);
    return { code: error.code, message: error.message };
  }
  return { code: null, message: String(error) };
}

expose(api);
