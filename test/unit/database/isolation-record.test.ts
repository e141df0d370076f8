import { afterEach, expect, test, vi } from 'vitest';

// oxlint-disable-next-line import/no-unassigned-import -- gives Node a database
import 'fake-indexeddb/auto';
import { hasCredentialless, readIsolation, writeIsolation } from '../../../src/database/isolation-record.ts';

afterEach(() => vi.unstubAllGlobals());

const APPLE = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';

test.each([
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
    true,
  ],
  [
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
    true,
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0', true],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0', true],
  ['Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0', false],
  ['Mozilla/5.0 (Android 15; Tablet; rv:140.0) Gecko/140.0 Firefox/140.0', false],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${APPLE} Version/18.6 Safari/605.1.15`, false],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) ${APPLE} CriOS/140.0.0.0 Mobile/15E148 Safari/604.1`,
    false,
  ],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) ${APPLE} FxiOS/140.0 Mobile/15E148 Safari/605.1.15`,
    false,
  ],
])('%s: COEP credentialless %s', (userAgent, expected) => {
  vi.stubGlobal('navigator', { userAgent });
  expect(hasCredentialless()).toBe(expected);
});

test.each([
  ['is known for 90 days', -89, true],
  ['is forgotten after 90 days', -91, false],
  ['is forgotten where its time lies ahead, as the clock was set back', 1, false],
])('what isolation breaks %s', async (_, days, isKnown) => {
  const need = { kind: 'popup' as const, url: 'https://pay.example/' };
  const seenAt = Date.now() + days * 24 * 3600 * 1000;
  await writeIsolation('/', { need, seenAt, failing: ['https://site.example/a.png'] });
  expect(await readIsolation('/')).toEqual({
    need: isKnown ? need : null,
    seenAt,
    failing: ['https://site.example/a.png'],
  });
});
