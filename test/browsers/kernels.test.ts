import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { selectedBrowsers } from './support/browsers.ts';
import { waitFor, type Browser, type Tab } from './support/driver.ts';

const FOLDER = '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct';
const TOKENS = 24;

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let tab: Tab;

  beforeAll(async () => {
    browser = await launch({});
    tab = await browser.open(`${inject('siteUrl')}/llama-page.html`);
    await waitFor(tab, () => 'scoreTokens' in window);
  });
  afterAll(() => browser?.close());

  const score = (folder: string, gguf: string) =>
    tab.evaluate(([wasm, file, tokens]) => window.scoreTokens(wasm, file, tokens), [
      folder,
      gguf,
      TOKENS,
    ] as const);

  test.each(['Q8_0', 'Q4_1'])(
    "log probabilities in %s are those of the package's own WASM, bit by bit",
    async (type) => {
      const gguf = `${FOLDER}.${type}.gguf`;
      const ours = await score('/localtext/wasm', gguf);
      const theirs = await score('/package', gguf);
      const gained = (['prefillPerSecond', 'decodePerSecond'] as const).map(
        (name) => `${name} ${theirs[name].toFixed(1)} → ${ours[name].toFixed(1)}`,
      );
      console.log(`${type}: ${gained.join(', ')}`);
      expect(ours.scores).toHaveLength(TOKENS);
      expect(ours.scores).toEqual(theirs.scores);
    },
  );
});
