import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, vi } from 'vitest';

// oxlint-disable-next-line import/no-unassigned-import -- gives Node a database
import 'fake-indexeddb/auto';
import type { EngineRequester } from '../../src/protocol/service-dependencies.ts';
import type { CatalogModel } from '../../src/catalog/catalog.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import { writeSettings } from '../../src/database/database.ts';
import { routedEngine } from '../../src/routing/routed-engine.ts';
import { createServers } from '../../src/routing/servers.ts';
import { FakeLocks } from './fake-locks.ts';
import { listen } from './listen.ts';

interface Options<A> {
  kind: CatalogModel['kind'];
  /** Engine of the variant on the device, and the path of its file. */
  engine: string;
  path: string;
  /** The model's name on the server. */
  theirName: string;
  /** What `asked` keeps of a request. */
  read(path: string, headers: IncomingHttpHeaders, body: Buffer<ArrayBuffer>): A | Promise<A>;
}

export interface UpstreamModel<A> {
  asked: A[];
  answer(response: ServerResponse): void;
  /** The model, and an engine that asks the server first, unless `route` says otherwise. */
  connect(
    device: EngineRequester,
    route?: NonNullable<CatalogModel['route']>,
  ): { model: CatalogModel; engine: EngineRequester };
}

/** Sets up the model `m` for the tests of a file: on a server, with the key `secret`, and behind it on the device. */
export function upstreamModel<A>({ kind, engine, path, theirName, read }: Options<A>): UpstreamModel<A> {
  let baseUrl: string;
  const lent: UpstreamModel<A> = {
    asked: [],
    answer: (response) => response.end(),
    connect(device, route) {
      const common = { license: 'MIT', contextLength: 2048 };
      const theirs = { ...common, engine: 'upstream', name: 'theirs', model: theirName, baseUrl, files: [] };
      const ours = { ...common, engine, name: 'ours', files: [{ path, bytes: 1, sha256: 'a'.repeat(64) }] };
      const { models } = parseCatalog({
        ownedBy: 'us',
        models: [{ id: 'm', kind, created: 0, ...(route && { route }), variants: [theirs, ours] }],
      });
      const [model] = models as [CatalogModel];
      const servers = createServers('/', () => undefined);
      const app = { scope: '/', locks: new FakeLocks().manager };
      return { model, engine: routedEngine(device, app, () => servers.targetsOf(model)) };
    },
  };
  beforeEach(async () => {
    await writeSettings('/', new FakeLocks().manager, {
      catalog: undefined,
      prefer: undefined,
      upstreamKeys: { theirs: 'secret' },
    });
    vi.spyOn(console, 'warn').mockReturnValue();
    lent.asked = [];
    const server = createServer(async (request, response) => {
      const { url = '', headers } = request;
      if (url === '/v1/models') return response.end('{}');
      const chunks: Buffer<ArrayBuffer>[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer<ArrayBuffer>);
      lent.asked.push(await read(url, headers, Buffer.concat(chunks)));
      return lent.answer(response);
    });
    baseUrl = `${await listen(server)}/v1`;
  });
  afterEach(() => void vi.restoreAllMocks());
  return lent;
}
