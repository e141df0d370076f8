import { afterEach, expect, test, vi } from 'vitest';

import { defaultCatalog } from '../../../../src/catalog/default-catalog.ts';
import { WeightSources } from '../../../../src/model-files/sources/weight-sources.ts';
import type { WeightStore } from '../../../../src/model-files/weight-store.ts';
import { delay } from '../../../../src/util/async.ts';
import { virtualTime } from '../../../support/virtual-time.ts';

virtualTime();
afterEach(() => void vi.unstubAllGlobals());

const variant = defaultCatalog.models
  .flatMap(({ variants }) => variants)
  .find(({ hub, engine }) => hub && engine === 'wllama');
const { folder = '', files: names = [] } = variant?.hub ?? {};
const entry = { bytes: 1, sha256: 'a'.repeat(64) };
const manifest = { version: 1, files: Object.fromEntries(names.map((name) => [`${folder}/${name}`, entry])) };

/** Answers of a server, or of a network, that is not at its best. */
const FAULTS: Record<string, () => Promise<Response>> = {
  'no connection': () => Promise.reject(new TypeError('Failed to fetch')),
  'no answer in time': async () => {
    await delay(3000);
    throw new DOMException('late', 'TimeoutError');
  },
  'a 503': async () => new Response('busy', { status: 503 }),
  'a page': async () => new Response('<!doctype html>'),
  'a part': async () => new Response(JSON.stringify(manifest).slice(0, -5)),
};

test.for(Object.entries(FAULTS))('after %s, the manifest is asked for again', async ([, fault]) => {
  if (!variant) throw new Error('no variant of the default catalog is from the hub');
  const fetch = vi.fn(fault);
  vi.stubGlobal('fetch', fetch);
  const store = { notes: { note: () => Promise.resolve(null) } } as unknown as WeightStore;
  const sources = new WeightSources(Promise.resolve(store), 'https://site.example/models/');
  const lacking = /not on this site/;
  // Several plans in a row ask once.
  for (let asked = 0; asked < 3; asked++) expect(await sources.fault(variant)).toMatch(lacking);
  expect(fetch).toHaveBeenCalledTimes(1);
  fetch.mockImplementation(async () => Response.json(manifest));
  await delay(61_000);
  const answers = await Promise.all([sources.fault(variant), sources.fault(variant)]);
  expect(answers).toEqual([undefined, undefined]);
  await delay(61_000);
  expect(await sources.files(variant)).toHaveLength(names.length);
  expect(fetch).toHaveBeenCalledTimes(2);
});
