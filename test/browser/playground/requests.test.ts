import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { violations } from '../../support/axe.ts';
import { bundleSamples } from '../../support/bundle-samples.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { openPage } from '../../support/open-page.ts';
import { PacedServer } from '../../support/paced-server.ts';
import { launchWithWeights } from '../../support/stored-weights.ts';
import { send } from '../../support/send.ts';

/** The log of requests: who asked, and code that asks the same again, run with the real clients. */

const siteUrl = inject('siteUrl');
const model = 'amber-phoenix-4';
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: "Say hello, it's me." }];
const mode = { type: 'object', properties: { mode: { enum: ['on', 'off'] } }, required: ['mode'] };
const schema = { ...mode, additionalProperties: false };
const light = { type: 'function', function: { name: 'light', description: 'A light.', parameters: schema } };
const short = { model, temperature: 0, max_completion_tokens: 32 };

const REQUESTS = {
  stream: {
    path: CHAT,
    body: { ...short, messages, max_completion_tokens: 6, stream: true, seed: 1, stop: 'zzz', top_p: 0.9 },
  },
  schema: {
    path: CHAT,
    body: {
      ...short,
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'reply', strict: true, schema } },
    },
  },
  tools: {
    path: CHAT,
    body: {
      ...short,
      messages,
      tools: [light],
      tool_choice: { type: 'function', function: { name: 'light' } },
    },
  },
  embeddings: { path: '/v1/embeddings', body: { model: 'jade-mole-4', input: ['An owl.', 'A mole.'] } },
  responses: {
    path: '/v1/responses',
    body: { model, input: 'Say hello.', max_output_tokens: 6, temperature: 0 },
  },
  completions: {
    path: '/v1/completions',
    body: { model, prompt: 'One, two,', max_tokens: 4, temperature: 0, stream: true },
  },
} satisfies Record<string, { path: string; body: object }>;
type Name = keyof typeof REQUESTS;

let context: BrowserContext;
let viewer: Page;
let app: Page;
let key: string;

beforeAll(async () => {
  context = await launchWithWeights();
  ({ page: app, key } = await openPage(context, siteUrl));
  viewer = await context.newPage();
  viewer.setDefaultTimeout(30_000);
  await viewer.goto(`${siteUrl}/#/models`);
  await viewer.locator('.model-card').first().waitFor();
  await viewer.goto(`${siteUrl}/#/requests`);
  await rows().filter({ hasText: 'this tab' }).first().waitFor();
});

const rows = () => viewer.locator('.request-list li');
const detail = () => viewer.getByRole('dialog');

/** Asks from the app's tab. */
async function ask({ path, body }: { path: string; body: object }, bearer = key): Promise<string> {
  return (await send(app, bearer, path, body)).text;
}

test('each request names the tab that asked', async () => {
  await ask(REQUESTS.embeddings);
  await rows().first().filter({ hasText: 'embeddings' }).waitFor();
  await expect(rows().first().locator('.request-who').textContent()).resolves.toMatch(
    /^\/test-page\.html · /,
  );
  await rows().first().getByRole('button').click();
  await detail().getByText(`${siteUrl}/test-page.html`).waitFor();
  expect(await violations(viewer)).toEqual([]);
  await viewer.keyboard.press('Escape');

  const { page: other, key: otherKey } = await openPage(context, siteUrl);
  await send(other, otherKey, '/v1/models');
  await rows().first().filter({ hasText: '/test-page.html (2) · ' }).waitFor();
  await other.close();
  // Its own stay its own.
  await expect(rows().filter({ hasText: 'this tab' }).count()).resolves.toBeGreaterThan(0);
});

test('each request says where its answer came from, and a key can be limited to the device', async () => {
  const server = new PacedServer({ firstMs: 0, tokenMs: 5, tokens: 5 });
  await server.start();
  const paced = { license: 'Apache-2.0', contextLength: 2048, files: [], baseUrl: server.url };
  const variant = { ...paced, engine: 'upstream' as const, name: 'paced', model: 'theirs' };
  const models = defaultCatalog.models.map((each) =>
    each.id === model ? { ...each, variants: [variant, ...each.variants] } : each,
  );
  const other = await openPage(context, siteUrl, { catalog: { ...defaultCatalog, models } });
  const newest = () => rows().first().locator('.request-what').textContent();
  await ask(REQUESTS.stream);
  await expect.poll(newest).toContain(`${model} from a server`);

  await viewer.goto(`${siteUrl}/#/keys`);
  await viewer.getByLabel('Application').fill('Diary');
  await viewer.getByText('Limits', { exact: true }).click();
  await viewer.getByLabel('This device only').check();
  await viewer.getByRole('button', { name: 'Issue key' }).click();
  const limited = (await viewer.locator('.new-key code').textContent()) ?? '';
  await viewer.keyboard.press('Escape');
  await viewer.locator('.key-row', { hasText: 'Diary' }).getByText('this device only').waitFor();
  await viewer.goto(`${siteUrl}/#/requests`);
  const requests = server.requests;
  await ask(REQUESTS.stream, limited);
  await expect.poll(newest).toContain(`${model} on this device`);
  expect(server.requests).toBe(requests);

  // The route changes when the server goes, and in the same call.
  await server.stop();
  const before = await rows().count();
  await ask(REQUESTS.stream);
  await expect.poll(() => rows().count()).toBe(before + 1);
  await expect.poll(newest).toContain(`${model} on this device`);
  await rows().first().getByRole('button').click();
  await detail().getByText('Answered by').waitFor();
  expect(await violations(viewer)).toEqual([]);
  await viewer.keyboard.press('Escape');
  await other.page.close();
});

/** Text of a reply, whatever it came in. */
function answerText(name: Name, text: string): string {
  if (name === 'stream' || name === 'completions') {
    return [...text.matchAll(/^data: (\{.*)$/gm)]
      .map(
        ([, json = '']) => JSON.parse(json) as { choices: { text?: string; delta?: { content?: string } }[] },
      )
      .map(({ choices: [choice] }) => choice?.text ?? choice?.delta?.content ?? '')
      .join('');
  }
  return text;
}

/** What a module prints as it runs: strings in one, all else as JSON. As text: the test's own bundler would take the import. */
const printedBy = (url: string): Promise<string> =>
  app.evaluate(`(async () => {
    const printed = [];
    const { log } = console;
    console.log = (...values) => printed.push(...values);
    try {
      await import(${JSON.stringify(url)});
    } finally {
      console.log = log;
    }
    return printed.every((each) => typeof each === 'string') ? printed.join('') : JSON.stringify(printed);
  })()`);

/** JSON within JSON, without its escapes and the white space that a model may put anywhere. */
const plain = (text: string): string => text.replaceAll(/\\+[nt]|[\s\\]/g, '');

test('the code that the log gives asks the same again, with each client', async () => {
  const answers = new Map<Name, string>();
  const samples = new Map<string, string>();
  for (const [name, request] of Object.entries(REQUESTS) as [Name, (typeof REQUESTS)[Name]][]) {
    const before = await rows().count();
    answers.set(name, answerText(name, await ask(request)));
    await expect.poll(() => rows().count()).toBe(before + 1);
    await rows().first().getByRole('button').click();
    const select = detail().getByLabel('Copy as');
    await select.waitFor();
    for (const kind of await select
      .locator('option')
      .evaluateAll((all) => all.map((each) => (each as HTMLOptionElement).value))) {
      await select.selectOption(kind);
      const code = (await detail().locator('.code-block code').last().textContent()) ?? '';
      if (kind === 'language-model') expect(code).toContain('LanguageModel.create(');
      else if (kind === 'curl') await detail().getByText('curl reaches servers only').waitFor();
      else samples.set(`${name}-${kind}`, code.replaceAll('lt_…', key));
    }
    await detail().getByRole('button', { name: 'Close' }).click();
  }
  expect(samples.size).toBe(14);

  const files = await bundleSamples(samples);
  await app.route(`${siteUrl}/samples/*`, (route) => {
    const body = files.get(new URL(route.request().url()).pathname.split('/').at(-1) ?? '');
    return body === undefined ? route.abort() : route.fulfill({ body, contentType: 'text/javascript' });
  });
  for (const name of samples.keys()) {
    const [request, kind] = [name.split('-')[0] as Name, name.slice(name.indexOf('-') + 1)];
    const printed = await printedBy(`${siteUrl}/samples/${name}.js`);
    const answer = answers.get(request) ?? '';
    const said = `${name} printed ${printed.slice(0, 300)}`;
    if (request === 'stream' || request === 'completions') expect(printed, said).toBe(answer);
    else if (request === 'embeddings')
      expect(printed.match(/-?\d\.\d+/g)?.length ?? 0, said).toBeGreaterThan(700);
    else if (request === 'tools') expect(plain(printed), said).toMatch(/light.*"mode":"o(n|ff)/);
    else if (request === 'schema') expect(plain(printed), said).toMatch(/"mode":"o(n|ff)/);
    else expect(printed, said).toContain('output_text');
    expect(kind).toMatch(/^(openai|ai-sdk|langchain)$/);
  }
});
