import type { Page } from 'playwright';

import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';

/** What a frame does every 100 ms until it is removed. */
const MEDDLE = `
  const junk = () => {
    const circle = { type: 'localtext:serve', version: 1 };
    circle.self = circle;
    return [null, undefined, 0, '', [], {}, circle, { type: 'wanted' }, { type: 'given' }, { type: 'localtext:serve' },
      { type: 'localtext:need-engine', version: 1e9, scope: '/' }, { type: 'cancel' }, { type: 'credit', count: NaN },
      { version: ${PROTOCOL_VERSION}, status: null }, { version: ${PROTOCOL_VERSION}, entry: null }, { epoch: null }, { channel: 7 },
      { type: 'localtext:abort' }, { type: 'localtext:claim' }, new Uint8Array(1000)];
  };
  const names = ['status', 'call', 'added-files', 'leader-exit', 'requests'];
  const to = (data, act) => { try { act(data); } catch {} };
  setInterval(() => {
    for (const data of junk()) {
      to(data, () => parent.postMessage(data, '*', [new MessageChannel().port1]));
      to(data, () => top.postMessage(data, '*'));
      for (const name of names) to(data, () => {
        const channel = new BroadcastChannel('localtext:' + name);
        channel.postMessage(data);
        channel.close();
      });
      to(data, () => navigator.serviceWorker.controller.postMessage(data));
      to(data, () => navigator.serviceWorker.controller.postMessage(data, [new MessageChannel().port1]));
    }
  }, 100);
  try {
    for (const name of ['localtext:request:x', 'localtext:weights:x', 'localtext:engine:x'])
      for (let count = 0; count < 200; count++) navigator.locks.request(name, () => new Promise(() => {})).catch(() => {});
  } catch {}
`;

/** Lets two frames, one of them in a sandbox, send messages and hold locks for 3 s. @returns uncaught errors of the page */
export async function meddle(page: Page): Promise<string[]> {
  const errors: string[] = [];
  const note = ({ message }: Error): void => void errors.push(message);
  page.on('pageerror', note);
  await page.evaluate(async (script) => {
    const frames = [false, true].map((isSandboxed) => {
      const frame = document.createElement('iframe');
      if (isSandboxed) frame.setAttribute('sandbox', 'allow-scripts');
      frame.srcdoc = `<body><script>${script}</script></body>`;
      document.body.append(frame);
      return frame;
    });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    for (const frame of frames) frame.remove();
  }, MEDDLE);
  page.off('pageerror', note);
  return errors;
}

/** Deletes what the site has stored in IndexedDB, its keys with it. */
export const deleteDatabases = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    for (const { name = '' } of await indexedDB.databases())
      await new Promise<void>((resolve, reject) => {
        const deleting = indexedDB.deleteDatabase(name);
        deleting.onsuccess = () => resolve();
        deleting.onerror = () => reject(deleting.error ?? new Error('not deleted'));
      });
  });
