import { expect, inject, test } from 'vitest';

import { REQUESTS } from '../../chaos/requests.ts';
import { engineOf } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import { PAGE } from './support/tab.ts';

// The first two tests run before any service worker.
const lent = siteOfTabs({}, []);

test('without a service worker, tabs share one engine too, and replies go on when its tab closes', async () => {
  const [leader, asker] = [await lent.open({ start: 'fetch' }), await lent.open({ start: 'fetch' })];
  expect(await asker.page.evaluate(() => navigator.serviceWorker.controller)).toBeNull();
  const kinds = ['streamed, longer', 'two choices', 'embeddings'] as const;
  const undisturbed = [];
  for (const kind of kinds) undisturbed.push(await asker.run(REQUESTS[kind]));
  expect(engineOf(leader.page)).toBeDefined();
  expect(engineOf(asker.page)).toBeUndefined();

  const names = [];
  for (const kind of kinds) names.push(await asker.begin(REQUESTS[kind]));
  await asker.deltas(names[0] ?? '', 3);
  await leader.page.close();
  for (const [index, name] of names.entries()) {
    const { error, text, finish } = await asker.ended(name);
    expect({ error, text, finish }).toEqual({
      error: null,
      text: undisturbed[index]?.text,
      finish: undisturbed[index]?.finish,
    });
  }
  const aborted = await asker.begin(counting({ max_tokens: 400 }));
  await asker.deltas(aborted, 2);
  await asker.abort(aborted);
  expect((await asker.ended(aborted)).finish).toEqual({});
  expect((await asker.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});

test('without a service worker, the broker leads to whichever tab leads next, for a tab that never did', async () => {
  const tabs = [];
  for (let count = 0; count < 3; count++) tabs.push(await lent.open({ start: 'fetch' }));
  const short = counting({ max_tokens: 2 });
  for (const tab of tabs) expect((await tab.run(short)).finish).toEqual({ 0: 'length' });
  for (const left of [2, 1]) {
    const leading = tabs.findIndex(({ page }) => engineOf(page));
    expect(leading).toBeGreaterThanOrEqual(0);
    const [leader] = tabs.splice(leading, 1);
    const runs = await Promise.all(tabs.map((tab) => tab.begin(short)));
    await leader?.page.close();
    for (const [index, tab] of tabs.entries()) {
      expect((await tab.ended(runs[index] ?? '')).finish).toEqual({ 0: 'length' });
      expect((await tab.run(short)).finish).toEqual({ 0: 'length' });
    }
    expect(tabs).toHaveLength(left);
    expect(tabs.filter(({ page }) => engineOf(page))).toHaveLength(1);
  }
});

test('the browser is asked to freeze the leader: replies are whole all the same', async () => {
  const [leader, asker] = [await lent.open(), await lent.open()];
  const undisturbed = await asker.run(REQUESTS['streamed, longer']);
  const name = await asker.begin(REQUESTS['streamed, longer']);
  await asker.deltas(name, 3);
  const session = await lent.context.newCDPSession(leader.page);
  await session.send('Page.setWebLifecycleState', { state: 'frozen' });
  const run = await asker.ended(name);
  expect(run.error).toBeNull();
  expect(run.text).toEqual(undisturbed.text);
  console.log(
    `the frozen tab ${(await asker.leads()) ? 'handed over' : 'was left to lead: others wait for its lock'}`,
  );
  expect((await asker.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
  await session.send('Page.setWebLifecycleState', { state: 'active' });
  await asker.page.close();
  await expect.poll(() => leader.leads()).toBe(true);
  expect((await leader.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});

test('a page that comes back, from the back/forward cache or reloaded, is served again', async () => {
  const tab = await lent.open();
  await tab.run(counting({ max_tokens: 2 }));
  await tab.page.evaluate(() => void ((window as { kept?: boolean }).kept = true));
  await tab.page.goto(`${inject('siteUrl')}/test-page.html?elsewhere`);
  // A page that is restored does not load again.
  await tab.page.goBack({ waitUntil: 'commit' });
  await tab.page.waitForFunction(() => 'lifetime' in window);
  const restored = await tab.page.evaluate(() => (window as { kept?: boolean }).kept ?? false);
  console.log(`the page came ${restored ? 'from the back/forward cache' : 'by a reload'}`);
  if (!restored) await tab.start();
  expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});

test('iframes of the same scope and srcdoc ones are served, sandboxed ones are not', async () => {
  const { page, key } = await lent.open();
  const statusIn = (kind: 'src' | 'srcdoc' | 'sandbox'): Promise<number | string> =>
    page.evaluate(
      async ([how, path, apiKey]) => {
        const frame = document.createElement('iframe');
        const script = `fetch('${location.origin}/v1/models', { headers: { authorization: 'Bearer ${apiKey}' } })
          .then(({ status }) => status, () => 'refused').then((said) => parent.postMessage(said, '*'));`;
        const said = new Promise<number | string>((resolve) => {
          addEventListener('message', ({ data }) => resolve(data as number | string), { once: true });
        });
        if (how === 'src') {
          frame.src = path;
          frame.addEventListener('load', () => {
            const code = frame.contentDocument?.createElement('script');
            if (!code) return;
            code.textContent = script;
            frame.contentDocument?.body.append(code);
          });
        } else {
          if (how === 'sandbox') frame.setAttribute('sandbox', 'allow-scripts');
          frame.srcdoc = `<body><script>${script}</script></body>`;
        }
        document.body.append(frame);
        return said;
      },
      [kind, PAGE, key] as const,
    );
  expect(await statusIn('src')).toBe(200);
  expect(await statusIn('srcdoc')).toBe(200);
  expect(await statusIn('sandbox')).not.toBe(200);
});
