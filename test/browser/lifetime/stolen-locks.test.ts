import type { Frame } from 'playwright';
import { expect, test } from 'vitest';

import { counting, siteOfTabs, storedResponse } from './support/site-of-tabs.ts';
import { PAGE, type Tab } from './support/tab.ts';
import { send } from '../../support/send.ts';

const lent = siteOfTabs();

const HOSTILE = `${PAGE}?hostile`;

/** A frame of the same origin that steals every lock, again and again. */
async function openThief({ page }: Tab, holds: boolean): Promise<void> {
  await page.evaluate(async (src) => {
    const frame = document.createElement('iframe');
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
    frame.src = src;
    document.body.append(frame);
    await loaded;
  }, HOSTILE);
  const frame = page.frames().find((each) => each.url().endsWith(HOSTILE));
  if (!frame) throw new Error('the frame has not loaded');
  await steal(frame, holds);
}

/** `holds`: each lock until the frame is gone; else it gives each back at once. */
const steal = (frame: Frame, holds: boolean): Promise<void> =>
  frame.evaluate((keeps) => {
    const take = async (): Promise<void> => {
      const { held = [], pending = [] } = await navigator.locks.query();
      for (const name of new Set([...held, ...pending].map((lock) => lock.name ?? ''))) {
        const hold = () => (keeps ? new Promise(() => undefined) : undefined);
        navigator.locks.request(name, { steal: true }, hold).catch(() => undefined);
      }
      setTimeout(() => void take(), 20);
    };
    void take();
  }, holds);

const closeThief = ({ page }: Tab): Promise<void> =>
  page.evaluate(() => document.querySelector('iframe')?.remove());

const REQUESTS = [
  counting({ max_tokens: 8 }),
  counting({ max_tokens: 8, stream: false }),
  storedResponse(8),
  { input: ['The weather is lovely today.'] },
];

test.each([
  ['gives them back', false],
  ['holds them', true],
] as const)(
  'a frame that steals all locks and %s: requests are answered or fail with the cause',
  async (_, holds) => {
    const tab = await lent.open();
    const undisturbed = [];
    for (const body of REQUESTS) undisturbed.push(await tab.run(body));
    const before = await Promise.all(REQUESTS.map((body) => tab.begin(body)));
    await openThief(tab, holds);
    const under = await Promise.all(REQUESTS.map((body) => tab.begin(body)));
    for (const [index, name] of [...before, ...under].entries()) {
      const run = await tab.ended(name, 150_000);
      if (run.error === null) expect(run.text).toEqual(undisturbed[index % REQUESTS.length]?.text);
      else
        expect(run.error).toMatchObject({
          code: 'engine_unavailable',
          message: expect.stringMatching(/Web Lock/) as string,
        });
    }
    expect((await send(tab.page, tab.key, '/v1/models')).status).toBe(200);
    await closeThief(tab);
    expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
  },
);
