import { withAdded, defaultModels, type Catalog } from '#catalog';
import { createRequester, loadModel, readStatus, type EngineConnection } from '#link';
import { createKeyStore } from '#keys';
import {
  requestLogChannel,
  PROTOCOL_VERSION,
  NO_ENGINE,
  statusChannel,
  type RequestLogEntry,
  type RequestLogMessage,
  type ServedVariant,
  type EngineStatus,
  type LoadProgress,
  type StatusMessage,
  type ModelFacts,
} from '#protocol';
import { shared, showSpan, asServiceError, storageUnavailable, type Span } from '#base';
import { catalogDirectory, createService, type Service } from '#service';
import { readSetting, createResponseStore, type Copies } from '#database';
import { readDeviceFacts, withServerFacts } from './read-model-facts.ts';
import { routedEngine } from './routed-engine.ts';
import { createServers } from './servers.ts';
import { withFailover } from './failover.ts';

/** False in a service worker that is built without servers, and so is smaller. */
declare const __LOCALTEXT_SERVERS__: boolean | undefined;
const HAS_SERVERS = typeof __LOCALTEXT_SERVERS__ === 'undefined' || __LOCALTEXT_SERVERS__;

/** A description is optional, so it waits for the engine no longer than this. */
const DESCRIBE_TIMEOUT_MS = 500;

export interface V1 {
  service: Service;
  /**
   * Loads a model on the device, or finds its server.
   * @throws ServiceError; the signal's reason when aborted
   */
  load(
    model: string,
    options: { signal: AbortSignal; onProgress?: (progress: LoadProgress) => void },
  ): Promise<void>;
  /** Reads the status; null: no engine answers in time, and no model has a server. @throws ServiceError */
  status(timeoutMs: number): Promise<EngineStatus | null>;
  /** Reads what requests need of the storage, so that it is known when they arrive. Never rejects. */
  readAhead(): Promise<unknown>;
}

/**
 * The service in a browser: in the service worker, or in a page. They differ in how they reach the engine.
 * @param copies copies of keys and settings, for a service worker; absent: they are read at each request
 */
export function browserV1(engine: EngineConnection, copies?: Copies): V1 {
  const { scope } = engine;
  const servers = HAS_SERVERS ? createServers(scope, announceStatus(scope), copies) : null;
  const readModels = shared(async () => {
    const reading = Promise.all([
      readSetting(scope, 'catalog', copies),
      readSetting(scope, 'added-models', copies),
    ]);
    const [own, added = []] = await reading.catch(storageUnavailable);
    const listed = own ?? defaultModels;
    const catalog = added.length > 0 ? withAdded(listed, added) : listed;
    if (!HAS_SERVERS) warnOfServers(catalog);
    return catalog;
  });
  const status: V1['status'] = async (deadlineMs) => {
    const signal = AbortSignal.timeout(2 * deadlineMs);
    let failure: unknown = null;
    const ofEngine = await readStatus({ ...engine, deadlineMs }, signal).catch((error: unknown) => {
      if (asServiceError(error).wire.code !== 'engine_unavailable') failure = error;
      return null;
    });
    const known = servers ? await servers.addTo(ofEngine, await readModels()) : ofEngine;
    if (!known && failure) throw failure;
    return known;
  };
  const facts = async (): Promise<ReadonlyMap<string, ModelFacts>> => {
    try {
      const device = await readDeviceFacts(scope, engine.locks, copies);
      return servers ? await withServerFacts(servers, await readModels(), device) : device;
    } catch {
      return new Map();
    }
  };
  const device = createRequester(engine);
  const models = catalogDirectory(readModels, {
    facts,
    describe: (id) =>
      status(DESCRIBE_TIMEOUT_MS).then(
        (known) => describeModel(known, id),
        () => null,
      ),
  });
  return {
    service: createService({
      engine: servers
        ? routedEngine(device, engine, ({ catalogModel }) => servers.targetsOf(catalogModel))
        : device,
      keys: createKeyStore(scope, engine.locks, copies),
      models,
      responses: createResponseStore(scope),
      log: publishRequest(scope),
    }),
    status,
    readAhead() {
      void copies?.prepare();
      return Promise.allSettled([readModels(), facts()]);
    },
    async load(name, options) {
      const entry = await models.find(name);
      const model = entry?.id ?? name;
      const targets = servers?.targetsOf(entry?.catalogModel);
      if (!targets) return loadModel(engine, model, options);
      const loading = withFailover(targets, options.signal, async function* ({ server, variants }, hasNext) {
        if (server) {
          await server.probe(options.signal, hasNext);
          options.onProgress?.({ model, phase: 'ready', loadedBytes: 0, totalBytes: 0 });
        } else await loadModel(engine, model, { ...options, variants });
        yield { type: 'stage' };
      });
      await loading.next();
    },
  };
}

let hasWarned = false;

/** Warns once that this build ignores the catalog's servers: only the device answers. */
function warnOfServers({ models }: Catalog): void {
  if (hasWarned || !models.some(({ variants }) => variants.some(({ engine }) => engine === 'upstream')))
    return;
  hasWarned = true;
  console.warn(
    'localtext: the catalog has servers. Build this service worker with `servers: true` or `--servers`.',
  );
}

/** Describes which variant answers for a model, and why; null if that is not known yet. */
function describeModel(status: EngineStatus | null, id: string): ServedVariant | null {
  const model = status?.models.find((each) => each.id === id);
  const chosen = model?.reasons?.find((reason) => reason.chosen);
  if (!model || !chosen) return null;
  const { state, fingerprint, bytes = 0, sampling = {}, reasons = [], thinks } = model;
  const { variant, engine } = chosen;
  const known = { variant, engine, bytes, state, fingerprint, sampling, reasons };
  return { ...known, ...(thinks !== undefined && { thinks }) };
}

/** Returns a function that tells every tab of a change that the engine worker does not know of. */
function announceStatus(scope: string): () => void {
  const channel = new BroadcastChannel(statusChannel(scope));
  return () => channel.postMessage({ version: PROTOCOL_VERSION, status: NO_ENGINE } satisfies StatusMessage);
}

/** How long request log entries wait, in milliseconds: an answer or a first token does not wait for them then. */
const LOG_DELAY_MS = 10;

/** Publishes the latest request log entry of each request to all tabs. */
function publishRequest(scope: string): (entry: RequestLogEntry) => void {
  const channel = new BroadcastChannel(requestLogChannel(scope));
  const changed = new Map<string, RequestLogEntry>();
  const publish = (): void => {
    for (const entry of changed.values())
      channel.postMessage({ version: PROTOCOL_VERSION, entry } satisfies RequestLogMessage);
    changed.clear();
  };
  return (entry) => {
    if (changed.size === 0) setTimeout(publish, LOG_DELAY_MS);
    changed.set(entry.id, entry);
    if (entry.totalMs !== null) showRequest(entry, entry.totalMs);
  };
}

type Shown = Pick<RequestLogEntry, 'requestId' | 'model' | 'queueMs' | 'firstTokenMs'>;

/** Shows a finished request in the browser's profiler. */
export function showRequest({ requestId, model, queueMs, firstTokenMs }: Shown, totalMs: number): void {
  const began = performance.now() - totalMs;
  const detail = { requestId, model: model ?? '' };
  const until = (span: Span, ms: number | null): void => {
    if (ms !== null) showSpan(span, ms, detail, began + ms);
  };
  until('request', totalMs);
  until('until accepted', queueMs);
  until('until first token', firstTokenMs);
}
