import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import type OpenAI from 'openai';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';

import { installLanguageModel } from '../support/fake-language-model.ts';
import type { Localtext } from '../../src/index.ts';
import { launch } from '../support/launch.ts';
import { readSamples, type Sample } from '../support/read-samples.ts';
import { freePort } from '../support/static-site.ts';
import { openExample } from './support/drive.ts';
import { startVite } from './support/vite-server.ts';
import { run } from './support/workspace.ts';

/** The documentation's programs as printed: checked against the package's types, and run from it. */

declare global {
  interface Window {
    /** Exports of the sample that the address names. */
    sample: Promise<
      Record<'classified' | 'extracted' | 'rewritten', object> & {
        openai: OpenAI;
        key: string;
        localtext: Localtext;
      }
    >;
  }
}

const examples = inject('examples');
const tsc = resolve('node_modules/typescript/bin/tsc');
let samples: Sample[];

beforeAll(async () => {
  samples = await readSamples();
});

/** What samples have that they neither import nor declare. Those of the guides are whole programs. */
const GLOBALS = {
  page: `/// <reference path=${JSON.stringify(resolve('node_modules/@types/dom-chromium-ai/index.d.ts'))} />`,
  reference: `
    type Page = typeof import('localtext');
    type Catalog = typeof import('localtext/catalog');
    declare const start: Page['start'];
    declare const extendCatalog: Catalog['extendCatalog'];
    declare const defaultCatalog: Catalog['defaultCatalog'];
    declare const withBuiltIn: Catalog['withBuiltIn'];
    declare const OpenAI: typeof import('openai').default;
    declare const localtext: Awaited<ReturnType<Page['start']>>;`,
  sw: `
    declare const matchV1: typeof import('localtext/sw').matchV1;
    declare const handleV1: typeof import('localtext/sw').handleV1;
    declare const precacheAndRoute: typeof import('workbox-precaching').precacheAndRoute;
    declare const registerRoute: typeof import('workbox-routing').registerRoute;
    declare function addEventListener(type: 'message', listener: typeof import('localtext/sw').handleMessage): void;
    interface WorkerGlobalScope { __WB_MANIFEST: { url: string; revision: string | null }[] }`,
  node: `declare const localtext: typeof import('localtext/vite').default;`,
};
type Environment = keyof typeof GLOBALS;
const PAGE = ['DOM', 'DOM.Iterable', 'DOM.AsyncIterable'];
const LIBS: Record<Environment, string[]> = { page: PAGE, reference: PAGE, sw: ['WebWorker'], node: [] };

function environmentOf({ place, code }: Sample): Environment {
  if (/localtext\/sw|matchV1/.test(code)) return 'sw';
  if (/plugins: \[/.test(code)) return 'node';
  return place.startsWith('src/') ? 'reference' : 'page';
}

/** A folder beside the installed examples, in which imports find the package. */
async function makeFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(examples, name));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test.each(Object.keys(GLOBALS) as Environment[])('samples for %s have right types', async (environment) => {
  const chosen = samples.filter((each) => environmentOf(each) === environment);
  expect(chosen.length).toBeGreaterThan(1);
  const folder = await makeFolder(`samples-${environment}-`);
  await writeFile(join(folder, 'globals.d.ts'), GLOBALS[environment]);
  for (const { place, language, code } of chosen)
    await writeFile(
      join(folder, `${place.replaceAll(/[^\w.]+/g, '_')}.${language}`),
      `${code}\nexport {};\n`,
    );
  const compilerOptions = {
    target: 'ES2023',
    module: 'ESNext',
    moduleResolution: 'bundler',
    noEmit: true,
    strict: true,
    allowJs: true,
    checkJs: true,
    jsx: 'react-jsx',
    paths: Object.fromEntries(
      ['react', 'react/jsx-runtime'].map((name) => [name, [resolve('node_modules/@types', name)]]),
    ),
    skipLibCheck: true,
    types: [],
    lib: ['ES2023', ...LIBS[environment]],
  };
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['./*'] }));
  expect(await run(folder, process.execPath, tsc, '-p', folder)).toBe('');
});

/** The program of the manual that has `text` in it. */
function sample(path: string, text: string): string {
  const [found, ...others] = samples.filter(
    ({ place, code }) => place.startsWith(`${path}:`) && code.includes(text),
  );
  expect([found?.place, ...others]).toEqual([expect.any(String)]);
  return found?.code ?? '';
}

/** Samples that show what they do: their place and a text of theirs, what a visitor presses, and what the page then has. */
const SHOWN: Record<string, [path: string, text: string, shown: RegExp, press?: RegExp]> = {
  'store.js': ['docs/react.md', 'store.subscribe', /^ready/],
  'hooks.jsx': ['docs/react.md', 'useModel(', /ready$/, /^(?:Download 98 MB|Load)$/],
  'language-model.js': ['docs/language-model.md', 'installLanguageModel', /software|program/, /^Ask$/],
  'decision.js': ['docs/typed-answers.md', '/v1/decisions', /food 0\.\d/],
  'speech.js': ['docs/capabilities.md', 'audio.speech', /silver-lark-4 is ready[^]*plays$/, /^Speak$/],
  'search.js': ['docs/models.md', 'embeddings.create', /Scores: -?0\.\d.*Best: Bread needs flour/],
  'hub.js': ['docs/models.md', 'models.offers', /LocaltextError.*owner\/name/],
  'stored.js': ['docs/weights.md', 'weights.list', /smollm2-135m-instruct-q4_1 .* whole/],
  'exported.js': ['docs/weights.md', 'weights.export', /localtext-model\.json/],
};

/** What a page adds to a sample that only exports. */
const RENDERED: Record<string, string> = {
  'hooks.jsx': `import { createRoot } from 'react-dom/client';
    createRoot(document.body.appendChild(document.createElement('div'))).render(<App />);`,
};

describe("the manual's samples run", () => {
  let context: BrowserContext;
  let url: string;

  beforeAll(async () => {
    const folder = await mkdtemp(join(examples, 'readme-'));
    const files = {
      'package.json': '{"type":"module"}',
      'vite.config.js': sample('README.md', 'plugins: [localtext('),
      'index.html': '<!doctype html><title>README</title><script type="module" src="./main.js"></script>',
      'main.js': `const samples = import.meta.glob('./samples/*');
        console.log = (...all) => document.body.append(all.join(' '));
        window.Audio = function (src) {
          return Object.assign(document.createElement('audio'), { src, onplaying: () => console.log('plays') });
        };
        const name = location.search.slice(1);
        window.sample = Object.entries(samples).find(([path]) => path.startsWith('./samples/' + name + '.'))[1]();`,
      ...Object.fromEntries(
        Object.entries(SHOWN).map(([name, [path, text]]) => [
          `samples/${name}`,
          sample(path, text) + (RENDERED[name] ?? ''),
        ]),
      ),
      'samples/five-lines.js': `${sample('README.md', 'const openai')}\nexport { openai, key };`,
      'samples/fetch.js': `${sample('docs/browsers.md', 'createFetch()')}\nexport { openai };`,
      'samples/keys.js': `${sample('docs/keys.md', 'limits: { requestsPerMinute')}\nexport { localtext };`,
      'samples/built-in.js': `${sample('docs/capabilities.md', 'withBuiltIn(')}\nexport { localtext };`,
      'samples/smallest.ts': sample('docs/models.md', 'export const rewritten'),
      'samples/catalog.js': `${sample('docs/models.md', 'extendCatalog(defaultCatalog')}
        import { keys } from 'localtext';
        import OpenAI from 'openai';
        const { key: apiKey } = await keys.ensure({ label: 'my app' });
        export const openai = new OpenAI({ baseURL: location.origin + '/v1', apiKey, dangerouslyAllowBrowser: true });`,
    };
    await mkdir(join(folder, 'samples'));
    for (const [name, code] of Object.entries(files)) await writeFile(join(folder, name), code);
    await run(folder, process.execPath, join(examples, 'node_modules/vite/bin/vite.js'), 'build');
    // After the build, which would copy them.
    await mkdir(join(folder, 'public'));
    await symlink(resolve('public/models'), join(folder, 'public/models'), 'junction');
    const server = await startVite(folder, 'preview', await freePort());
    url = server.url;
    context = await launch();
    return async () => {
      await context.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    };
  });

  async function open(name: string): Promise<Page> {
    const { page } = await openExample(context, `${url}?${name}`);
    onTestFinished(() => page.close());
    return page;
  }

  const chat = (page: Page, model: string): Promise<string> =>
    page.evaluate(async (id) => {
      const { openai } = await window.sample;
      const messages = [
        { role: 'system' as const, content: 'You are a helpful assistant.' },
        { role: 'user' as const, content: 'Name the capital of France.' },
      ];
      const reply = await openai.chat.completions.create({
        model: id,
        messages,
        temperature: 0,
        max_tokens: 20,
      });
      return reply.choices[0]?.message.content ?? '';
    }, model);

  const ownKey = (page: Page): Promise<string> => page.evaluate(async () => (await window.sample).key);

  test('README: a reply that streams, and the same key in every tab and after a reload', async () => {
    const [page, other] = await Promise.all([open('five-lines'), open('five-lines')]);
    await page.locator('body', { hasText: /software|program/ }).waitFor({ timeout: 120_000 });
    const key = await ownKey(page);
    expect(await ownKey(other)).toBe(key);
    await page.reload();
    expect(await ownKey(page)).toBe(key);
  });

  test('the smallest model classifies, extracts and rewrites after examples', async () => {
    const page = await open('smallest');
    const fields = await page.evaluate(async () => {
      const { classified, extracted, rewritten } = await window.sample;
      return [classified, extracted, rewritten];
    });
    expect(fields).toEqual([
      { topic: 'account' },
      { name: 'Tom', city: 'Paris' },
      { text: 'Could you open the window, please?' },
    ]);
  });

  test.each(Object.entries(SHOWN))('%s', async (name, [, , shown, press]) => {
    const page = await open(name.replace(/\.\w+$/, ''));
    if (press) await page.getByRole('button', { name: press }).click({ timeout: 90_000 });
    const all = () => page.evaluate(() => document.title + document.body.innerText);
    await expect.poll(all, { timeout: 90_000 }).toMatch(shown);
  });

  test('createFetch', async () => {
    expect(await chat(await open('fetch'), 'amber-phoenix-4')).toMatch(/Paris/);
  });

  test('keys', async () => {
    const page = await open('keys');
    const states = await page.evaluate(async () => {
      const { localtext } = await window.sample;
      return (await localtext.keys.list()).map(({ label, state }) => `${label}: ${state}`);
    });
    expect(states).toEqual(expect.arrayContaining(['my app: active', 'notes: revoked']));
  });

  test("the browser's own model answers once a click has downloaded it", async () => {
    const page = await context.newPage();
    onTestFinished(() => page.close());
    await page.addInitScript(installLanguageModel, { state: 'downloadable' } as const);
    await page.goto(`${url}?built-in`);
    await page.getByRole('button', { name: "Download the browser's model" }).click();
    const chosen = () =>
      page.evaluate(async () => {
        const { localtext } = await window.sample;
        const { models } = await localtext.status();
        const model = models.find(({ id }) => id === 'amber-phoenix-4');
        return model?.state === 'ready' ? model.reasons?.find((reason) => reason.chosen)?.engine : null;
      });
    await expect.poll(chosen).toBe('built-in');
  });

  test('the catalog: while the server cannot be reached, the weights that were pulled answer', async () => {
    expect(await chat(await open('catalog'), 'company-chat')).toMatch(/Paris/);
  });
});
