import { expect, inject, test } from 'vitest';

import { REQUESTS } from '../../chaos/requests.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import { PAGE } from './support/tab.ts';

const lent = siteOfTabs({}, []);

// Playwright keeps its pages visible, and the browser freezes none of those.
test('replies stay complete when the leader is told that it freezes', async () => {
  const [leader, asker] = [await lent.open(), await lent.open()];
  const undisturbed = await asker.run(REQUESTS['streamed, longer']);
  const name = await asker.begin(REQUESTS['streamed, longer']);
  await asker.deltas(name, 3);
  await leader.page.evaluate(() => document.dispatchEvent(new Event('freeze')));
  const run = await asker.ended(name);
  expect(run.error).toBeNull();
  expect(run.text).toEqual(undisturbed.text);
  expect((await asker.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
  expect(await asker.leads()).toBe(true);
  await leader.page.evaluate(() => document.dispatchEvent(new Event('resume')));
  await asker.page.close();
  await expect.poll(() => leader.leads()).toBe(true);
  expect((await leader.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
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

test('start() in a srcdoc frame', async () => {
  const { page } = await lent.open();
  const html = await (await fetch(inject('siteUrl') + PAGE)).text();
  await page.evaluate(
    (srcdoc) => document.body.append(Object.assign(document.createElement('iframe'), { srcdoc })),
    html,
  );
  const frame = page.frames()[1];
  await frame?.waitForFunction(() => 'lifetime' in window);
  const baseURL = frame?.evaluate(async () => {
    await window.lifetime.start({ isolation: [] });
    return window.lifetime.handle().baseURL;
  });
  expect(await baseURL).toBe(`${inject('siteUrl')}/v1`);
});
