import {
  fatalLoadsKey,
  NO_ENGINE,
  statusChannel,
  WATCH_STATUS,
  ABORT_HEADER,
  PROTOCOL_VERSION,
  type EngineStatus,
  type LoadProgress,
  type ModelStatus,
  type StatusMessage,
  type PageToServiceWorker,
} from '#protocol';
import type { Catalog } from '#catalog';
import { isV1Path } from '#base';
import type { RunCommand } from './engine-commands.ts';
import { LocaltextError } from './localtext-error.ts';
import { loadModel, readStatus } from './engine-access.ts';
import { AddedModels } from './added-models-handle.ts';
import { requestPersistence } from './persist.ts';
import { loadChunk } from './load-chunk.ts';
import { keysOf, type Keys } from './keys.ts';
import type { Membership } from './election/join.ts';
import { applyUpdate, updateWaits } from './update.ts';
import { Weights } from './weights-handle.ts';

export interface LocaltextStatus extends EngineStatus {
  /** Whether this tab's worker is the engine of all tabs. */
  leader: boolean;
  serviceWorker: boolean;
  /** Whether this page is isolated, as WASM threads require; see `isolation` of `start()`. */
  crossOriginIsolated: boolean;
  /**
   * Whether this tab runs the engine, and a file of its build that the engine needed is no longer on the
   * server: call `update()`, then reload the page.
   */
  buildReplaced: boolean;
  /** Whether a version newer than this page waits: call `update()`. */
  updateWaiting: boolean;
  models: ModelStatus[];
}

/**
 * The page's handle. Events: `status` when anything in `status()` may have changed, in every tab; `update`
 * when a new version waits.
 */
export class Localtext extends EventTarget {
  /** Value for `new OpenAI({ baseURL })`. */
  readonly baseURL = `${globalThis.origin}/v1`;
  /**
   * Function for `new OpenAI({ baseURL, fetch })`: aborts reach the engine before the answer begins, and
   * without streaming.
   */
  readonly fetch: typeof fetch = Object.assign(
    (...[input, init]: Parameters<typeof fetch>) => fetchV1(input, init),
    // Without its `Response`, openai fetches a `data:` URL before it sends a file, which most policies refuse.
    { Response },
  );
  /** Enrols applications: issue, list, rotate, revoke. */
  readonly keys: Keys;
  /** The stored models: list, delete, pause, cancel, export, import. */
  readonly weights: Weights;
  /** The models that the user adds: add, list, rename, remove. */
  readonly models: AddedModels;
  readonly #membership: Membership;
  readonly #channel: BroadcastChannel;
  #registration: ServiceWorkerRegistration;
  readonly #stop = new AbortController();

  readonly #catalog: Catalog | undefined;
  /** Set by a failed `ready()`: if the engine's worker did not start, no engine reports it. */
  #buildReplaced = false;
  #isWatching = false;
  /** Epoch of the engine worker that was told of it last. */
  #watched = '';

  constructor(membership: Membership, registration: ServiceWorkerRegistration, catalog?: Catalog) {
    super();
    this.#membership = membership;
    this.#catalog = catalog;
    this.#registration = registration;
    const { member } = membership;
    const { scope } = member;
    const { signal } = this.#stop;
    this.keys = keysOf(() => scope);
    this.#channel = new BroadcastChannel(statusChannel(scope));
    const run: RunCommand = async (...parameters) => {
      const { engineCommands } = await loadChunk(import('./engine-commands.ts'));
      return engineCommands(member, signal)(...parameters);
    };
    this.weights = new Weights(registration.scope, run);
    this.models = new AddedModels(scope, run);
    this.#channel.onmessage = ({ data }: MessageEvent<StatusMessage | null>) => {
      // Any script of the origin can send here.
      if (data?.version !== PROTOCOL_VERSION || !data.status) return;
      if (this.#isWatching && data.status.epoch !== this.#watched) this.#watch();
      this.#watched = data.status.epoch;
      persistOnce(data.status, member.leading);
      // A tab of a later build may have the files.
      if (member.leading && data.status.models.some(isReplaced)) void member.queueAgain();
      this.#emit('status');
    };
    member.addEventListener('change', () => this.#emit('status'), { signal });
  }

  /** Aborted by `stop()`. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /**
   * Loads a model, in whichever tab the engine is; resolves when it answers. If the browser's own model is a
   * variant of it, `builtIn: 'download'` first has the browser download that, if it can; call it as the user
   * clicks. Its progress is a share of 1 instead of bytes.
   * @throws LocaltextError; the signal's reason when aborted.
   */
  async ready(
    model: string,
    options: {
      onProgress?: (progress: LoadProgress) => void;
      signal?: AbortSignal;
      builtIn?: 'download';
      /** Tries also variants whose load ended a tab. */
      retry?: boolean;
    } = {},
  ): Promise<void> {
    if (options.retry) {
      try {
        localStorage.removeItem(fatalLoadsKey(this.#membership.member.scope));
      } catch {
        // The browser refuses storage, so nothing is stored.
      }
    }
    const signal = AbortSignal.any([this.stopped, options.signal ?? this.stopped]);
    if (options.builtIn && this.#catalog) {
      const { downloadBuiltIn } = await loadChunk(import('./download-built-in.ts'));
      await downloadBuiltIn(this.#catalog, model, signal, options.onProgress);
    }
    try {
      await loadModel(model, signal, options.onProgress);
    } catch (error) {
      this.#buildReplaced ||= error instanceof LocaltextError && error.code === 'build_replaced';
      this.#emit('status');
      throw error;
    }
  }

  /** Returns an empty `epoch` and no models while no engine answers. @throws LocaltextError if none can start */
  async status(): Promise<LocaltextStatus> {
    const status = { ...NO_ENGINE, ...(await readStatus()) };
    const { leading } = this.#membership.member;
    return {
      ...status,
      leader: leading,
      serviceWorker: true,
      crossOriginIsolated,
      buildReplaced: leading && (this.#buildReplaced || status.models.some(isReplaced)),
      updateWaiting: updateWaits(this.#registration),
    };
  }

  /**
   * Lets a waiting version take over, once no request runs in any tab. False when none waits.
   * Reload the page afterwards: it keeps the library that it was loaded with.
   */
  async update(): Promise<boolean> {
    // Chromium holds a version back for up to 5 minutes if the engine's worker starts while it takes over.
    await readStatus().catch(() => null);
    return applyUpdate(this.#registration, this.stopped);
  }

  /**
   * Removes this tab from the election: it no longer leads (unless it also uses `createFetch()`), and another
   * tab's engine takes over. The service worker stays.
   */
  stop(): void {
    if (this.stopped.aborted) return;
    this.#stop.abort(new DOMException('localtext was stopped in this tab.', 'AbortError'));
    this.#membership.leave();
    this.#channel.close();
  }

  /**
   * Takes the registration of a service worker that was gone and has been installed again.
   * @internal
   */
  renew(registration: ServiceWorkerRegistration): void {
    this.#registration = registration;
    this.#emit('status');
  }

  /** @internal */
  announceUpdate(): void {
    if (!updateWaits(this.#registration)) return;
    this.#emit('update');
    this.#emit('status');
  }

  /** Listening to `status` lets the engine report each request. */
  override addEventListener(...parameters: Parameters<EventTarget['addEventListener']>): void {
    super.addEventListener(...parameters);
    if (parameters[0] === 'status') this.#watch();
  }

  #watch(): void {
    this.#isWatching = true;
    if (!this.stopped.aborted) this.#channel.postMessage(WATCH_STATUS);
  }

  #emit(type: 'status' | 'update'): void {
    this.dispatchEvent(new Event(type));
  }
}

/**
 * Fetches as `fetch` does, but an abort reaches the engine at once. With the page's own `fetch`, browsers do
 * not tell the service worker of an abort before the headers, and the headers of an answer that is not
 * streamed come at its end.
 */
const fetchV1: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const { origin, pathname } = new URL(request.url);
  const { controller } = navigator.serviceWorker;
  if (!controller || origin !== globalThis.origin || !isV1Path(pathname)) return fetch(request);
  const id = crypto.randomUUID();
  request.headers.set(ABORT_HEADER, id);
  const { signal } = request;
  const onAbort = (): void =>
    controller.postMessage({ type: 'localtext:abort', id } satisfies PageToServiceWorker);
  signal.addEventListener('abort', onAbort);
  try {
    return await fetch(request);
  } finally {
    // If the request was aborted, the listener has run already.
    signal.removeEventListener('abort', onAbort);
  }
};

const isReplaced = ({ errorCode }: ModelStatus): boolean => errorCode === 'build_replaced';

let persistAsked = false;

/** Asks the browser to keep the weights as their download begins: a worker cannot ask. */
function persistOnce({ models }: EngineStatus, leading: boolean): void {
  if (persistAsked || !leading || !models.some(({ progress }) => progress?.phase === 'download')) return;
  persistAsked = true;
  requestPersistence();
}
