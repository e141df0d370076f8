// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { beforeEach, expect, test, vi } from 'vitest';

import { parseCatalog } from '../../../src/catalog/parse-catalog.ts';
import type { JobEvent } from '../../../src/jobs/kinds.ts';
import { createEngineParts } from '../../../src/engine-worker/engine-parts.ts';
import { loadId } from '../../../src/models/crash-guard.ts';
import type { PageServices } from '../../../src/protocol/page-services.ts';
import { serveJob } from '../../../src/engine-worker/requests/serve-job.ts';
import type { Engines } from '../../../src/engine-kit/engine.ts';
import { ENGINES } from '../../../src/engines/index.ts';
import { sha256 } from '../../../src/base/sha256.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { serveFile } from '../weights/file-server.ts';
import { toy } from './toy-engine.ts';
import { never } from '../../support/never.ts';

const engines = { ...ENGINES, toy };

beforeEach(() => {
  vi.stubGlobal('navigator', { locks: new FakeLocks().manager, userAgent: 'test' });
  vi.stubGlobal('location', { href: 'http://127.0.0.1/worker.js' });
});

const text = 'hello from a file';

async function catalogOf(more: object = {}) {
  const bytes = new TextEncoder().encode(text);
  const file = { path: 'toy/words.txt', bytes: bytes.length, sha256: await sha256(bytes) };
  const common = { engine: 'toy', license: 'MIT', contextLength: 8, files: [file] };
  const variants = [
    { ...common, name: 'loud', shouts: true },
    { ...common, name: 'soft', ...more },
  ];
  return { ownedBy: 'us', models: [{ id: 'parrot', kind: 'chat', created: 0, variants }] };
}

/** A page that keeps the loads of its engine. */
function fakePage(fatal: string[] = []) {
  const begun: (readonly string[])[] = [];
  const refused: string[] = [];
  const loads = {
    begun: async (variants: readonly string[]) => void begun.push(variants),
    fatal: async () => fatal,
    refused: async (load: string) => void refused.push(load),
  };
  const page: PageServices = {
    decodeAudio: async () => ({ plays: [] }),
    pageModel: {
      availability: async () => ({ state: 'absent', samples: false, images: false }),
      prompt: async () => undefined,
    },
    loads,
  };
  return { begun, refused, page };
}

const startParts = async (site: { url: string }, page: ReturnType<typeof fakePage>['page'], own: Engines) =>
  createEngineParts({
    version: 1,
    epoch: 'e',
    scope: '/',
    catalog: parseCatalog(await catalogOf(), own),
    modelsUrl: `${site.url}/models/`,
    wasmUrl: `${site.url}/wasm/`,
    engines: own,
    added: [],
    page,
    gpuAsked: Date.now(),
  });

test('an engine that is registered in one place is chosen, loaded from stored weights, and answers', async () => {
  const { begun, page } = fakePage();
  const site = await serveFile({ body: Buffer.from(text) });
  const parts = await startParts(site, page, engines);
  const events: JobEvent[] = [];
  const input = { messages: [] };
  const job = { kind: 'chat', model: 'parrot', input, sampling: { temperature: 1, topP: 1 } } as const;
  const send = (event: JobEvent) => void events.push(event);
  await serveJob(parts.modelManager, { id: 'r', imageOrigins: [], job }, never, {
    onStage: () => undefined,
    send,
  });
  expect(
    events.map((event) => (event.type === 'delta' && 'delta' in event ? event.delta.text : event.type)),
  ).toEqual(['accepted', text, 'done']);
  const [model] = parts.status().models;
  expect(model).toMatchObject({ state: 'ready', fingerprint: 'soft' });
  // A tab that ends during the load, or before the first token, has ended on it.
  const soft = [expect.stringMatching(/^soft /)];
  expect(begun).toEqual([soft, [], soft, []]);
  expect(model?.reasons).toMatchObject([
    { variant: 'soft', chosen: true },
    { variant: 'loud', chosen: false, reason: 'needs a quiet room' },
  ]);
  await expect
    .poll(() => parts.status().models[0]?.estimates)
    .toMatchObject({ soft: { memoryBytes: 1000 + 2 * text.length } });
  site.close();
});

test('the only variant, with which a tab has ended, is not loaded until its record is gone', async () => {
  const [{ variants } = { variants: [] }] = parseCatalog(await catalogOf(), engines).models;
  const [soft] = variants.filter(({ name }) => name === 'soft').map((variant) => loadId(variant, engines));
  const fatal = [soft ?? ''];
  const { begun, refused, page } = fakePage(fatal);
  const site = await serveFile({ body: Buffer.from(text) });
  const parts = await startParts(site, page, engines);
  const load = () => parts.modelManager.ready('parrot', never, { replan: true });
  await expect(load()).rejects.toMatchObject({
    wire: { code: 'model_load_failed', message: expect.stringContaining('ended its tab') as string },
  });
  expect(refused).toEqual([soft]);
  expect(begun).toEqual([]);
  const reasonOf = () => parts.status().models[0]?.reasons?.find(({ chosen }) => chosen);
  expect(reasonOf()).toMatchObject({ variant: 'soft', endedTab: true });

  fatal.length = 0;
  await expect
    .poll(() =>
      load().then(
        () => parts.status().models[0]?.state,
        () => 'failed',
      ),
    )
    .toBe('ready');
  expect(reasonOf()).toMatchObject({ variant: 'soft' });
  expect(reasonOf()).not.toHaveProperty('endedTab');
  site.close();
});

test('the catalog checks the fields of a registered engine, and names it among the engines', async () => {
  const wrong = await catalogOf({ shouts: 'yes' });
  expect(() => parseCatalog(wrong, engines)).toThrow(/models\[0\]\.variants\[1\]\.shouts/);
  const ofTheOthers = await catalogOf();
  expect(() => parseCatalog(ofTheOthers)).toThrow(/must be one of the engines .*built-in and upstream/);
});

test('a script that did not arrive, as its service worker was stopped, is asked for again', async () => {
  const site = await serveFile({ body: Buffer.from(text) });
  const load = vi
    .fn(toy.load)
    .mockRejectedValueOnce(new TypeError('Failed to fetch dynamically imported module: x.js'));
  const parts = await startParts(site, fakePage().page, { ...engines, toy: { ...toy, load } });
  await parts.modelManager.ready('parrot', never);
  expect(load).toHaveBeenCalledTimes(2);
  expect(parts.status().models[0]).toMatchObject({ state: 'ready' });
  site.close();
});
