import { expect, test } from 'vitest';

import { counting, siteOfTabs } from './support/site-of-tabs.ts';

const SERVICE_WORKER = '/localtext-sw.js';
const lent = siteOfTabs();

/** One of a version that never was: it takes control, says its version, and asks the leader on behalf of a page. */
const FOREIGN = `
  self.addEventListener('install', () => self.skipWaiting());
  self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener('message', async ({ data, ports: [port] }) => {
    if (data?.type === 'localtext:claim' || data?.type === 'localtext:version') port.postMessage({ type: 'ok', version: 0 });
    if (data !== 'ask the leader') return;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event) => port.postMessage(event.data);
    const [client] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    client.postMessage({ type: 'localtext:need-engine', version: 0, scope: '/' }, [port2]);
  });`;

test('of another version: both sides say so, and a newer one takes its place where there is one', async () => {
  await lent.renew();
  lent.site.files.set('/foreign-sw.js', () => FOREIGN);
  const tab = await lent.open();
  const refusal = await tab.page.evaluate(async () => {
    const { active, installing } = await navigator.serviceWorker.register('/foreign-sw.js', {
      scope: '/elsewhere/',
    });
    const worker = active ?? installing;
    if (worker?.state !== 'activated')
      await new Promise((resolve) =>
        worker?.addEventListener('statechange', () => worker.state === 'activated' && resolve(null)),
      );
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
    worker?.postMessage('ask the leader', [port2]);
    return answer;
  });
  expect(refusal).toMatchObject({ type: 'error', error: { code: 'protocol_mismatch' } });

  await lent.renew();
  lent.site.files.set(SERVICE_WORKER, () => FOREIGN);
  const early = await lent.open({ start: 'none' });
  await expect(early.start()).rejects.toThrow(/different versions. Reload every tab/);
  lent.site.files.delete(SERVICE_WORKER);
  await early.page.reload();
  await early.start();
  expect((await early.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});
