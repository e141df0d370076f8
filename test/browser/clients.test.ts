import type { BrowserContext, Page } from 'playwright';
import { beforeAll, describe, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { openPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';
import { send } from '../support/send.ts';
import { launchWithWeights } from '../support/stored-weights.ts';

/** What client libraries send and read, on a chat model whose texts make no sense, and real embeddings. */

const CONTEXT = 2048;

let site: AlteredSite;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  const { catalog, serve } = await smallChat(CONTEXT);
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  context = await launchWithWeights({ servedBy: site.url });
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/clients-page.html#options=${options}`));
});

/** Arguments in the schema that all flows ask for. */
const light = {
  mode: expect.stringMatching(/^(on|off)$/) as string,
  room: expect.stringMatching(/^(kitchen|hall)$/) as string,
};

describe('the openai package', () => {
  test('runTools calls the function with what its schema allows', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.openai.runTools(apiKey), key);
    expect(seen.given).toEqual([light]);
    expect(seen.seen).toEqual(['switch_light', 'The light is on.']);
    expect(seen.roles).toEqual(['user', 'assistant', 'tool']);
  });

  test('a streamed call comes in pieces, and its result is answered', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.openai.callAndAnswer(apiKey), key);
    expect(seen).toMatchObject({
      name: 'switch_light',
      parsed: light,
      joined: true,
      finishReason: 'tool_calls',
      answered: expect.stringMatching(/\S/) as string,
    });
    expect(seen.pieces).toBeGreaterThan(3);
  });

  test('parse with zod, of chats and of responses', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.openai.parse(apiKey), key);
    expect(seen).toEqual({ chat: light, response: light });
  });

  test('decisions.create of its version 7 answers typed questions', async () => {
    const { answers, usage, model } = await page.evaluate(
      (apiKey) => window.clients.openai7.decide(apiKey),
      key,
    );
    expect(model).toBe('jade-mole-4');
    expect(answers).toEqual([
      {
        type: 'choice',
        name: 'topic',
        choice: 'food',
        confidence: expect.closeTo(1, 0) as number,
        probabilities: [
          { value: 'sports', probability: expect.any(Number) as number },
          { value: 'food', probability: expect.any(Number) as number },
        ],
      },
      { type: 'predicate', name: null, probability: expect.any(Number) as number },
      {
        type: 'score',
        name: null,
        score: expect.any(Number) as number,
        confidence: expect.any(Number) as number,
        probabilities: [
          { label: 'low', value: 0, probability: expect.any(Number) as number },
          { label: 'high', value: 1, probability: expect.any(Number) as number },
        ],
      },
    ]);
    expect(usage).toMatchObject({ output_tokens: 0, input_tokens: expect.any(Number) as number });
    const refused = await page.evaluate((apiKey) => window.clients.openai7.refused(apiKey), key);
    expect(refused).toEqual({ status: 400, param: 'questions[0].choices' });
  });
});

describe('the AI SDK', () => {
  test('tools, in steps and streamed', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.aiSdk.tools(apiKey), key);
    expect(seen.given.length).toBeGreaterThanOrEqual(2);
    for (const input of seen.given) expect(input).toEqual(light);
    // The function is named, and a step follows all the same.
    expect(seen.steps[0]).toEqual(['stop', 1]);
    expect(seen.steps[1]?.[1]).toBe(0);
    expect(seen.text).not.toBe('');
    expect(seen.parts).toEqual(
      expect.arrayContaining(['tool-input-start', 'tool-input-delta', 'tool-call', 'tool-result', 'finish']),
    );
  });

  test('its default provider continues at once after a stop', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.aiSdk.stopped(apiKey), key);
    expect(seen.shown).not.toBe('');
    expect(seen.asked).toContain('item_reference');
    expect(seen.text).not.toBe('');
  });
});

describe('LangChain', () => {
  test('invoke and stream', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.langchain.text(apiKey), key);
    expect(seen.written).toBe(seen.whole);
    expect(seen.whole).not.toBe('');
    expect(seen.deltas).toBeGreaterThan(1);
  });

  test('withStructuredOutput, by a function and by a schema', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.langchain.structured(apiKey), key);
    expect(seen).toEqual({ byFunction: light, bySchema: light });
  });

  test('bindTools, and a result that is answered', async () => {
    const seen = await page.evaluate((apiKey) => window.clients.langchain.tools(apiKey), key);
    expect(seen.calls).toEqual([{ name: 'switch_light', args: light }]);
    expect(seen.answer).not.toBe('');
  });

  test('OpenAIEmbeddings', async () => {
    const lengths = await page.evaluate((apiKey) => window.clients.langchain.embeddings(apiKey), key);
    expect(lengths).toEqual([expect.closeTo(1, 3), expect.closeTo(1, 3)]);
  });
});

test('replies with a required tool that fill the shared context together are all given', async () => {
  const words = { type: 'array', items: { enum: ['sea', 'land'] }, minItems: 18, maxItems: 18 };
  const parameters = { type: 'object', properties: { words }, required: ['words'] };
  interface Reply {
    choices: { message: { tool_calls: { function: { arguments: string } }[] } }[];
    usage: { total_tokens: number };
  }
  const replies = await Promise.all(
    [1, 2, 3, 4].map((question) =>
      send<Reply>(page, key, '/v1/chat/completions', {
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content: `${question}: ${'the sea is wide and deep, '.repeat(64)}` }],
        tools: [{ type: 'function', function: { name: 'answer', parameters } }],
        tool_choice: 'required',
        parallel_tool_calls: false,
      }),
    ),
  );
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const { body } of replies) {
    const call = body.choices[0]?.message.tool_calls[0]?.function.arguments ?? '';
    expect((JSON.parse(call) as { words: string[] }).words).toHaveLength(18);
  }
  // Each has room for itself alone.
  expect(replies.reduce((sum, { body }) => sum + body.usage.total_tokens, 0)).toBeGreaterThan(CONTEXT);
});
