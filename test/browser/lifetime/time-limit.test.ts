import { beforeAll, beforeEach, expect, test } from 'vitest';

import type { Catalog } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { speechModel } from '../../support/speech/speech-model.ts';
import type { Body } from './site/run.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs({}, []);
const SPEECH = 'coral-wren-4';
let speech: Awaited<ReturnType<typeof speechModel>>;
let tab: Tab;

beforeAll(async () => {
  speech = await speechModel();
});

// Each test has its own: the last one's is closed.
beforeEach(async () => {
  const catalog: Catalog = {
    ...speech.catalog,
    models: [...speech.catalog.models, ...defaultCatalog.models],
  };
  tab = await lent.open({ catalog });
  await tab.load(['amber-phoenix-4', 'jade-mole-4', SPEECH]);
  await tab.watch();
});

const WORDS = 'the weather in the mountains changes faster than most visitors believe ';

/** Each takes far longer than its client's limit. */
const REQUESTS: Record<string, () => Body | Promise<Body>> = {
  chat: () => counting({ max_tokens: 1500, stream: false, logit_bias: { 2: -100 } }),
  choices: () => counting({ n: 2, max_tokens: 1500, stream: false, logit_bias: { 2: -100 } }),
  embedding: () => ({ input: Array.from({ length: 2000 }, (_, at) => `${at} ${WORDS.repeat(4)}`) }),
  decision: () => ({
    path: '/decisions',
    input: WORDS.repeat(20),
    questions: Array.from({ length: 100 }, (_, at) => ({
      type: 'predicate',
      instructions: `Is it about ${at}? ${WORDS.repeat(4)}`,
    })),
  }),
  transcription: async () => ({ model: SPEECH, clip: await longClip(`${speech.url}/clips/sentence.wav`) }),
};

/** URL of ten minutes of speech, 20 MB. */
const longClip = (url: string): Promise<string> =>
  tab.page.evaluate(async (clip) => {
    const bytes = new Uint8Array(await (await fetch(clip)).arrayBuffer());
    const at = 44;
    const samples = bytes.subarray(at);
    const header = bytes.slice(0, at);
    const repeats = 230;
    const view = new DataView(header.buffer);
    view.setUint32(4, at - 8 + repeats * samples.length, true);
    view.setUint32(at - 4, repeats * samples.length, true);
    const parts = Array.from({ length: repeats }, () => samples);
    return URL.createObjectURL(new Blob([header, ...parts]));
  }, url);

test('what a client sends again at its time limit runs once, and ends after the last time', async () => {
  for (const [kind, makeBody] of Object.entries(REQUESTS)) {
    const before = (await tab.log()).length;
    const name = await tab.begin(await makeBody(), { timeout: 1000, maxRetries: 2 });
    const most = await mostWhile(name);
    const { error } = await tab.ended(name);
    await tab.untilFree();
    // None of them is computed to its end.
    await expect
      .poll(async () => (await tab.log()).slice(before).map(({ status }) => status), { message: kind })
      .toEqual([408, 408, 408]);
    expect({ kind, most }).toEqual({ kind, most: kind === 'choices' ? 2 : 1 });
    expect(error?.message, kind).toBe('Request timed out.');
  }
});

/** The most jobs of a model that run at once until a request has ended. */
const mostWhile = (name: string): Promise<number> =>
  tab.page.evaluate(async (run) => {
    let most = 0;
    while (!window.lifetime.runs[run]?.ended) {
      const { models } = await window.lifetime.handle().status();
      most = Math.max(most, ...models.map(({ running, queued }) => running + queued));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return most;
  }, name);
