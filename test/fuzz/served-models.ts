import { createServer, type ServerResponse } from 'node:http';

// oxlint-disable-next-line import/no-unassigned-import -- gives Node a database
import 'fake-indexeddb/auto';

import { catalogDirectory } from '../../src/service/model-list/models.ts';
import { createService } from '../../src/service/service.ts';
import type { ModelKind } from '../../src/jobs/kinds.ts';
import { createResponseStore } from '../../src/database/response-store.ts';
import { KeyAdministrator } from '../../src/keys/key-administrator.ts';
import { createKeyStore } from '../../src/keys/key-store.ts';
import { routedEngine } from '../../src/routing/routed-engine.ts';
import { createServers } from '../../src/routing/servers.ts';
import { listen } from '../support/listen.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { FakeLocks } from '../support/fake-locks.ts';
import { serverVariant, catalogOf, modelOf } from '../support/catalogs.ts';

export interface ServedModels {
  /** Answers the requests to the models `chat`, `speech` and `voice`. */
  answer(response: ServerResponse, path: string): void;
  /** Engine of the models `device-chat` and `device-speech`. */
  device: FakeEngine;
  send(path: string, body: object | FormData, signal?: AbortSignal): Promise<Response>;
  /** Reservations that nothing has settled yet. */
  open(): number;
}

const WIDE = { requestsPerMinute: 1e6, tokensPerMinute: 1e9, inFlight: 1000 };

/** The service over models of a server in this process, and of a fake device. @param contextLength of the server's models */
export async function servedModels(contextLength: number): Promise<ServedModels> {
  const lent: Pick<ServedModels, 'answer' | 'device'> = {
    answer: (response) => void response.end(),
    device: new FakeEngine(),
  };
  const server = createServer((request, response) => {
    const { url = '' } = request;
    request.resume().on('end', () => {
      if (url === '/v1/models') response.end('{"data":[]}');
      else lent.answer(response, url);
    });
  });
  const baseUrl = `${await listen(server)}/v1`;
  const served = (id: string, kind: ModelKind) =>
    modelOf(id, [serverVariant(id, baseUrl, { contextLength })], kind);
  const catalog = catalogOf(
    served('chat', 'chat'),
    served('speech', 'transcription'),
    served('voice', 'speech'),
    modelOf('device-chat'),
    modelOf('device-speech', [], 'transcription'),
  );
  const { manager: locks } = new FakeLocks();
  const { key } = await new KeyAdministrator('/', locks).issue({ label: 'test', limits: WIDE });
  const keys = createKeyStore('/', locks);
  const servers = createServers('/', () => undefined);
  let open = 0;
  const device = { run: (job, request) => lent.device.run(job, request) } as Pick<FakeEngine, 'run'>;
  const service = createService({
    engine: routedEngine(device, { scope: '/', locks }, ({ catalogModel }) =>
      servers.targetsOf(catalogModel),
    ),
    keys: {
      ...keys,
      async reserve(...given) {
        const reservation = await keys.reserve(...given);
        open++;
        return reservation;
      },
      async settle(...given) {
        await keys.settle(...given);
        open--;
      },
    },
    models: catalogDirectory(async () => catalog),
    responses: createResponseStore('/'),
    log: () => undefined,
  });
  return Object.assign(lent, {
    send: (path: string, body: object | FormData, signal?: AbortSignal) =>
      service(
        new Request(`https://site.example/v1${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
          body: body instanceof FormData ? body : JSON.stringify(body),
          ...(signal && { signal }),
        }),
      ),
    open: () => open,
  });
}

/** The form of a transcription. */
export function speechForm(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new File(['sound'], 'a.wav'));
  return form;
}
