import { type ProxyMarked, releaseProxy, type Remote, wrap } from 'comlink';

import { abortable, engineCrashed, serverError, ServiceError } from '#base';
import { helperLock, whenReleased } from '#protocol';
import { openWorker } from './open-worker.ts';

/** API of the engine worker's script when an engine starts it as a helper worker. */
export interface HelperScript {
  /** Resolves when the worker holds the lock. @param name key in `HELPERS` of #engines/helpers */
  helper(name: string, lock: string): Promise<object & ProxyMarked>;
}

type Load<Helper extends object> = (helper: Remote<Helper>) => Promise<unknown>;

/** A worker that runs one of an engine's helpers. */
export interface HelperWorker<Helper extends object> {
  /** Rejects when the worker ends before the call does. */
  call<T>(call: (helper: Remote<Helper>) => Promise<T>): Promise<T>;
  /** Terminates the worker. @param reason rejects pending calls */
  end(reason?: unknown): void;
}

/** @throws ServiceError; the error of `load` */
export async function openHelper<Helper extends object>(
  name: string,
  load: Load<Helper>,
  signal: AbortSignal,
): Promise<HelperWorker<Helper>> {
  // The current script's own type first: bundlers decide it. On a busy machine Firefox sometimes hangs while it starts a
  // second worker right after a failed first one.
  const isOwnModule = isModule();
  try {
    return await openAs(isOwnModule ? 'module' : 'classic', name, load, signal);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'worker_blocked') throw error;
    return openAs(isOwnModule ? 'classic' : 'module', name, load, signal);
  }
}

async function openAs<Helper extends object>(
  type: WorkerType,
  name: string,
  load: Load<Helper>,
  signal: AbortSignal,
): Promise<HelperWorker<Helper>> {
  /** Aborts when the worker has ended for any reason: a call to it would never settle. */
  const gone = new AbortController();
  const end = (reason: unknown = unloaded()): void => {
    if (gone.signal.aborted) return;
    gone.abort(reason);
    script[releaseProxy]();
    worker.terminate();
  };
  // The engine worker's own script, so that bundlers need not emit another.
  const worker = openWorker(location.href, { type, name: 'localtext-helper' }, end);
  const script = wrap<HelperScript>(worker);
  const start = async (): Promise<Remote<Helper>> => {
    const lock = helperLock(crypto.randomUUID());
    const helper = (await abortable(script.helper(name, lock), gone.signal)) as unknown as Remote<Helper>;
    whenReleased(navigator.locks, lock, gone.signal).then(
      () => end(engineCrashed(`the worker of the helper ${name} has ended`)),
      () => undefined,
    );
    await abortable(load(helper), gone.signal);
    return helper;
  };
  try {
    const helper = await abortable(start(), signal);
    return { call: (call) => abortable(call(helper), gone.signal), end };
  } catch (error) {
    end();
    throw error;
  }
}

const unloaded = (): ServiceError =>
  serverError('engine_crashed', 'The model was unloaded while it ran this request. Try again.');

/** Modules may not call importScripts(). */
function isModule(): boolean {
  const scope = globalThis as unknown as { importScripts(...urls: string[]): void };
  try {
    scope.importScripts();
    // Firefox throws its TypeError in a module only if there is a script to load.
    if (navigator.userAgent.includes('Firefox/')) scope.importScripts('data:text/javascript,');
    return false;
  } catch (error) {
    return error instanceof TypeError;
  }
}
