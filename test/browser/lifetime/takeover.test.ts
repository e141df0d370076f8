import { expect, test } from 'vitest';

import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { createDeferred } from '../../../src/base/async.ts';
import { smallChat } from '../../support/small-chat.ts';
import type { Body, Run } from './site/run.ts';
import { counting, siteOfTabs, storedResponse } from './support/site-of-tabs.ts';

const SERVICE_WORKER = '/localtext-sw.js';
const lent = siteOfTabs({}, []);

const REQUESTS: Record<string, Body> = {
  streamed: counting({ max_tokens: 16 }),
  whole: counting({ max_tokens: 16, stream: false }),
  stored: storedResponse(16),
  embeddings: { input: ['The weather is lovely today.', 'He drove to the stadium.'] },
};

/** Line of a site's own service worker, or the effect of "Update on reload": localtext's own asks whether a request runs. */
const TAKES_OVER = "self.addEventListener('install', () => self.skipWaiting());\n";

test('a version that takes over at once loses no request of any kind, and the download continues', async () => {
  const small = await smallChat();
  const model = { id: 'small-1', kind: 'chat' as const, created: 1, variants: [small.variant] };
  const catalog = { ...defaultCatalog, models: [...defaultCatalog.models, model] };
  small.serve(lent.site);
  const weights = lent.site.handlers;
  const [asked, released] = [createDeferred(), createDeferred()];
  for (const [path, answerWhole] of weights)
    weights.set(path, (request, answer) => {
      asked.resolve();
      void released.promise.then(() => answerWhole(request, answer));
    });
  const leader = await lent.open({ catalog });
  await leader.load();
  const tab = await lent.open({ catalog });
  const undisturbed = new Map<string, Run>();
  for (const [kind, body] of Object.entries(REQUESTS)) undisturbed.set(kind, await tab.run(body));

  const loading = tab.load(['small-1']);
  await asked.promise;
  const names = new Map<string, string>();
  for (const [kind, body] of Object.entries(REQUESTS)) names.set(kind, await tab.begin(body));
  await tab.deltas(names.get('streamed') ?? '', 1);
  lent.site.files.set(SERVICE_WORKER, (text) => TAKES_OVER + text);
  const changed = tab.page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        navigator.serviceWorker.addEventListener('controllerchange', () => resolve(), { once: true });
      }),
  );
  const installed = tab.page.evaluate(async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    await registration?.update();
    const next = registration?.installing;
    if (next?.state === 'installing')
      await new Promise((resolve) => next.addEventListener('statechange', resolve, { once: true }));
    return next?.state;
  });
  expect(await installed).not.toBe('redundant');
  const later = await tab.begin(counting({ max_tokens: 2 }));

  for (const [kind, name] of names) {
    const { error, text, finish, stored } = await tab.ended(name, 120_000);
    const before = undisturbed.get(kind);
    expect({ kind, error, text, finish }).toEqual({
      kind,
      error: null,
      text: before?.text,
      finish: before?.finish,
    });
    if (kind === 'stored') expect(stored).toMatch(/^resp_/);
  }
  expect((await tab.ended(later)).finish).toEqual({ 0: 'length' });
  released.resolve();
  await loading;
  await changed;
  expect((await tab.run(counting({ max_tokens: 2, model: 'small-1' }))).finish).toEqual({ 0: 'length' });
});
