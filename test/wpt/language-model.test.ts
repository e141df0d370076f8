/// <reference types="dom-chromium-ai" />
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { describe, expect, test } from 'vitest';

import { selectedBrowsers } from '../browsers/support/browsers.ts';
import { waitFor, type Tab } from '../browsers/support/driver.ts';
import { StaticSite } from '../support/static-site.ts';
import { overlaySite } from './overlay-site.ts';

/** Names of testharness.js for the status of a test. */
const STATUS = ['passed', 'failed', 'timed out', 'not run', 'not applicable'] as const;
const FILE_TIMEOUT_MS = 400_000;

interface Result {
  name: string;
  status: (typeof STATUS)[number];
  message: string | null;
}

declare global {
  interface Window {
    wptResults?: { name: string; status: number; message: string | null }[];
  }
}

/** A checkout of web-platform-tests, or a part of it: `ai`, `resources`, `images`, `media`. */
const folder = resolve(process.env['WPT'] ?? '');
if (!process.env['WPT']) throw new Error('WPT is to name a folder with a checkout of web-platform-tests.');
const only = process.env['WPT_FILES'] ?? '';

const files = (await readdir(join(folder, 'ai/language-model'), { recursive: true }))
  .filter((name) => name.endsWith('.window.js') && name.includes(only))
  .map((name) => `/ai/language-model/${name.replaceAll('\\', '/')}`)
  .toSorted();

/** The script, after those that it names. `testdriver.js` drives a browser; `bless()` is not needed once the weights are stored. */
function scriptsOf(file: string): string[] {
  const text = readFileSync(join(folder, file), 'utf8');
  const named = [...text.matchAll(/^\/\/ META: script=(.+)$/gm)]
    .map(([, path = '']) => new URL(path.trim(), `http://wpt${file}`).pathname)
    .filter((path) => !path.includes('testdriver'));
  return ['/resources/testharness.js', ...named, file];
}

async function runFile(tab: Tab, file: string): Promise<Result[]> {
  await tab.evaluate(async (scripts) => {
    const globals = window as unknown as Record<string, (...values: unknown[]) => void>;
    Object.assign(window, {
      test_driver: { bless: async (_intent: string, act?: () => unknown) => act?.() },
    });
    for (const src of scripts) {
      const script = Object.assign(document.createElement('script'), { src });
      const loaded = new Promise((done, fail) => Object.assign(script, { onload: done, onerror: fail }));
      document.head.append(script);
      await loaded;
      if (!src.endsWith('testharness.js')) continue;
      globals['setup']?.({ explicit_done: true, explicit_timeout: true, output: false });
      globals['add_completion_callback']?.((tests: Window['wptResults']) => {
        window.wptResults = tests?.map(({ name, status, message }) => ({ name, status, message })) ?? [];
      });
    }
    // The harness waits for the page, which was loaded before it.
    window.dispatchEvent(new Event('load'));
    globals['done']?.();
  }, scriptsOf(file));
  const results = await waitFor(tab, () => window.wptResults, undefined, FILE_TIMEOUT_MS).catch(() => null);
  return (results ?? [{ name: file, status: 2, message: 'no result' }]).map(({ status, ...result }) => ({
    ...result,
    status: STATUS[status] ?? 'failed',
  }));
}

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  test('passes at least 80 % of the tests of language-model', async () => {
    const [browser, site] = await Promise.all([launch({ computesLittle: true }), StaticSite.start()]);
    const origin = await overlaySite(folder, site.port);
    const results: Result[] = [];
    try {
      const first = await browser.open(`${origin}/language-model-page.html?maxTokens=80`);
      await waitFor(first, () => 'LanguageModel' in window);
      // Browsers count a key as the activation that a download needs.
      await first.press('Tab');
      await first.evaluate(async () => (await LanguageModel.create()).destroy());
      for (const file of files) {
        const tab = await browser.open(`${origin}/language-model-page.html?maxTokens=80`);
        await waitFor(tab, () => 'LanguageModel' in window);
        const found = await runFile(tab, file);
        for (const { name, status, message } of found)
          console.log(
            `${status}: ${file.slice('/ai/language-model/'.length)}: ${name}${message === null ? '' : ` (${message})`}`,
          );
        results.push(...found);
        await tab.close();
      }
    } finally {
      await browser.close();
      await site.stop();
    }
    const count = (status: Result['status']): number =>
      results.filter((each) => each.status === status).length;
    console.log(Object.fromEntries(STATUS.map((status) => [status, count(status)])));
    expect(count('passed') / (results.length - count('not applicable'))).toBeGreaterThanOrEqual(0.8);
  });
});
