// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { vi } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { KeyAdministrator, type IssueOptions } from '../../src/keys/key-administrator.ts';
import { createKeyStore } from '../../src/keys/key-store.ts';
import { catalogDirectory } from '../../src/service/model-list/models.ts';
import { createService, type Service } from '../../src/service/service.ts';
import type { ServiceDependencies } from '../../src/protocol/service-dependencies.ts';
import { createResponseStore } from '../../src/database/response-store.ts';
import { FakeEngine } from './fake-engine.ts';
import { FakeLocks } from './fake-locks.ts';

const model = (id: string, kind: 'chat' | 'embedding') => ({
  id,
  kind,
  created: 1_700_000_000,
  variants: [],
});

const FAKE_CATALOG: Catalog = {
  ownedBy: 'localtext',
  models: [
    model('crimson-falcon-4', 'chat'),
    model('indigo-owl-4', 'chat'),
    model('amber-phoenix-4', 'chat'),
    model('jade-mole-4', 'embedding'),
  ],
  aliases: { 'gpt-4o-mini': 'indigo-owl-4' },
};

export interface FakeService {
  fetch(
    path: string,
    init?: RequestInit & { body?: BodyInit | null; json?: unknown; key?: string | null },
  ): Promise<Response>;
  service: Service;
  engine: FakeEngine;
  keys: KeyAdministrator;
  /** A good key. */
  key: string;
}

/** The pure service over a fake engine and real keys. */
export async function fakeService(
  options: Partial<ServiceDependencies> & {
    engine?: FakeEngine;
    issue?: Partial<IssueOptions>;
    now?: () => number;
  } = {},
): Promise<FakeService> {
  const { engine = new FakeEngine(), issue = {}, now, ...rest } = options;
  // Levels of limits rise with the time, and a machine may be slow: it stands still for them.
  const standing = issue.limits && Date.now();
  if (now ?? standing) vi.spyOn(Date, 'now').mockImplementation(now ?? (() => standing ?? 0));
  const locks = new FakeLocks().manager;
  const keys = new KeyAdministrator('/', locks);
  const { key } = await keys.issue({ label: 'test', ...issue });
  const service = createService({
    engine,
    keys: createKeyStore('/', locks),
    models: catalogDirectory(async () => FAKE_CATALOG),
    responses: createResponseStore('/'),
    log: () => {},
    ...rest,
  });
  return {
    service,
    engine,
    keys,
    key,
    fetch(path, { json, key: bearer = key, ...init } = {}) {
      const headers = new Headers(init.headers);
      if (bearer !== null) headers.set('authorization', `Bearer ${bearer}`);
      const body = json === undefined ? init.body : JSON.stringify(json);
      const method = init.method ?? (body == null ? 'GET' : 'POST');
      return service(
        new Request(`https://site.example${path}`, {
          ...init,
          method,
          headers,
          ...(body == null ? {} : { body }),
        }),
      );
    },
  };
}

const chatBody = (extra: Record<string, unknown> = {}) => ({
  model: 'amber-phoenix-4',
  messages: [{ role: 'user', content: 'Say hello.' }],
  ...extra,
});

export const chat = (extra: Record<string, unknown> = {}) => ({ json: chatBody(extra) });
