import { withAdded } from '../catalog/added-models.ts';
import { defaultModels } from '../catalog/default-models.ts';
import type { EngineClientDependencies } from '../tabs/client/call-engine.ts';
import { createEngineClient } from '../tabs/client/engine-client.ts';
import { lockedInFlight } from '../keys/in-flight.ts';
import { createKeyStore } from '../keys/key-store.ts';
import { requestLogChannel, type RequestLogEntry, type RequestLogMessage } from '../protocol/request-log.ts';
import { showSpan, type Span } from '../protocol/user-timing.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { catalogDirectory } from '../service/models/catalog-directory.ts';
import { createService, type Service } from '../service/service.ts';
import { asServiceError } from '../service/service-error.ts';
import { readAddedModels } from '../storage/added-model-records.ts';
import { createResponseStore } from '../storage/response-store.ts';
import { readCatalog } from '../storage/settings.ts';
import { describeModel } from './describe-model.ts';

const now = (): number => Date.now();

/** The service in a browser: in the service worker, or in a page. They differ in how they reach the engine. */
export function browserService(engine: EngineClientDependencies): Service {
  const { scope } = engine;
  const service = createService({
    engine: createEngineClient(engine),
    keys: createKeyStore({ scope, now, inFlight: lockedInFlight(engine.locks) }),
    models: {
      ...catalogDirectory(async () => {
        const [catalog, added] = await Promise.all([readCatalog(scope), readAddedModels(scope)]);
        return withAdded(catalog ?? defaultModels, added);
      }),
      describe: (id) => describeModel(engine, id),
    },
    responses: createResponseStore(scope, now),
    log: publishRequest(scope),
    now,
  });
  return async (request, client, signal = request.signal) => {
    try {
      return await service(request, client, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      // A rejection would reach the client as a network error without a reason.
      return asServiceError(error).toResponse();
    }
  };
}

/** To the tabs that show it. Where none does, a message costs some microseconds. */
function publishRequest(scope: string): (entry: RequestLogEntry) => void {
  const channel = new BroadcastChannel(requestLogChannel(scope));
  return (entry) => {
    channel.postMessage({ version: PROTOCOL_VERSION, entry } satisfies RequestLogMessage);
    if (entry.totalMs !== null) showRequest(entry, entry.totalMs);
  };
}

/** Shows a finished request in the browser's profiler. */
function showRequest({ id, model, queueMs, firstTokenMs }: RequestLogEntry, totalMs: number): void {
  const began = performance.now() - totalMs;
  const detail = { requestId: id, model: model ?? '' };
  const until = (span: Span, ms: number | null): void => {
    if (ms !== null) showSpan(span, ms, detail, began + ms);
  };
  until('request', totalMs);
  until('until accepted', queueMs);
  until('until first token', firstTokenMs);
}

/** Whether a path of this origin is the service's: `/v1` and all below it. */
export const isV1Path = ({ pathname }: URL): boolean => pathname === '/v1' || pathname.startsWith('/v1/');
