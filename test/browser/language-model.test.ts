/// <reference types="dom-chromium-ai" />
import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';

let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  page = await context.newPage();
  await page.goto(`${inject('siteUrl')}/language-model-page.html`);
});

afterAll(() => context.close());

test('a session answers, remembers, and counts its tokens', async () => {
  const result = await page.evaluate(async () => {
    const availability = await LanguageModel.availability({ expectedInputs: [{ type: 'text', languages: ['en'] }] });
    const shares: number[] = [];
    const session = await LanguageModel.create({
      samplingMode: 'most-predictable',
      initialPrompts: [{ role: 'system', content: 'You are a helpful assistant.' }],
      monitor: (monitor) => monitor.addEventListener('downloadprogress', ({ loaded }) => shares.push(loaded)),
    });
    const began = session.contextUsage;
    const measured = await session.measureContextUsage('What is the capital of France?');
    const text = await session.prompt('What is the capital of France?');
    const used = session.contextUsage;
    let streamed = '';
    const reader = session.promptStreaming('And of Italy?').getReader();
    let pieces = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      streamed += value;
      pieces++;
    }
    const copy = await session.clone();
    return { availability, shares, began, measured, text, used, streamed, pieces, after: session.contextUsage, copied: copy.contextUsage, window: session.contextWindow };
  });
  console.log(result);
  expect(result.text).toContain('Paris');
});

test('constraints', async () => {
  const result = await page.evaluate(async () => {
    const session = await LanguageModel.create({ samplingMode: 'most-predictable' });
    const one = await session.prompt('Is Paris in France?', { responseConstraint: /^(yes|no)$/ as never });
    const two = await session.prompt('Rate the food, from 0 to 5: very good', { responseConstraint: {type:'object',required:['Rating'],additionalProperties:false,properties:{Rating:{type:'number',minimum:0,maximum:5}}} });
    const three = await session.prompt([{role:'user',content:'hello'},{role:'assistant',content:'Greetings',prefix:true}], { responseConstraint: /^Greetings and salutations.*/ as never });
    const bad = await session.prompt([{role:'user',content:'hello'},{role:'assistant',content:'invalid',prefix:true}], { responseConstraint: /^Greetings and salutations.*/ as never }).catch((e: Error) => e.name + e.message);
    const prefix = await session.prompt([{role:'user',content:'hello'},{role:'assistant',content:'```toml\n',prefix:true}]);
    const long = await session.measureContextUsage('Please write a sentence in English.'.repeat(8192)).catch((e: Error) => e.name + e.message);
    const quota = await session.append('Please write a sentence in English.'.repeat(8192)).catch((e: Error) => ({ n: e.name, m: e.message, ...e, c: e.constructor.name }));
    return { one, two, three, bad, prefix, long, quota };
  });
  console.log(result);
});
