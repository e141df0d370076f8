import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext, Page } from 'playwright';
import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest';

import type { Catalog, Variant } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { small } from '../support/small-variant.ts';
import { launch } from '../support/launch.ts';
import { freePort } from '../support/static-site.ts';
import { openExample } from './support/drive.ts';
import { linkModels } from './support/models.ts';
import { startVite } from './support/vite-server.ts';
import { run } from './support/workspace.ts';
import { serverVariant } from '../support/catalogs.ts';

/** What the engine worker refuses or fails at has one status: in the installed package's dev server and in its build. */

interface ErrorCase {
  model: string;
  status: number;
  code: string | null;
  prompt?: string;
}

const errors: Record<string, ErrorCase> = {
  'a prompt longer than the context': {
    model: 'amber-phoenix-4',
    prompt: 'owl '.repeat(20_000),
    status: 400,
    code: 'context_length_exceeded',
  },
  'an upstream that is down': { model: 'up-down', status: 500, code: 'upstream_unavailable' },
  'weights that the site lacks': { model: 'no-weights', status: 500, code: 'weights_unavailable' },
};

const folder = join(inject('examples'), 'engine-errors');
const chat = (id: string, ...variants: Variant[]) => ({ id, kind: 'chat' as const, created: 1, variants });
let context: BrowserContext;

beforeAll(async () => {
  context = await launch();
  await writeSite();
});

afterEach(async () => {
  for (const page of context.pages()) await page.close();
});

async function writeSite(): Promise<void> {
  // No server listens on port 9.
  const down = serverVariant('down', 'http://127.0.0.1:9/v1');
  const absent = {
    ...small,
    name: 'absent',
    files: [{ ...small.files[0], path: 'absent.gguf', sha256: 'a'.repeat(64) }],
  } as Variant;
  const catalog: Catalog = {
    ownedBy: 'test',
    models: [
      chat('up-down', down),
      chat('no-weights', absent),
      ...defaultCatalog.models.filter(({ id }) => ['amber-phoenix-4', 'jade-mole-4'].includes(id)),
      chat('falls-back', { ...down, name: 'down-too' }, { ...small, name: 'device' } as Variant),
    ],
  };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const example = (name: string) => join('examples/vite-openai', name);
  await cp(example('package.json'), join(folder, 'package.json'));
  const config = await readFile(example('vite.config.js'), 'utf8');
  await writeFile(
    join(folder, 'vite.config.js'),
    config.replace(/localtext\(\{.*?\}\)/, 'localtext({ servers: true })'),
  );
  await writeFile(
    join(folder, 'index.html'),
    `<!doctype html><title>errors</title><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>`,
  );
  await writeFile(
    join(folder, 'main.js'),
    `import { start } from 'localtext';
     const started = start({ catalog: ${JSON.stringify(catalog)} });
     window.ask = async (model, content, stream) => {
       const localtext = await started;
       const { key } = await localtext.keys.issue({ label: 'errors' });
       const messages = [{ role: 'user', content }];
       const body = JSON.stringify({ model, messages, max_tokens: 4, temperature: 0, stream });
       const headers = { authorization: 'Bearer ' + key };
       const response = await fetch('/v1/chat/completions', { method: 'POST', headers, body });
       const reply = await response.json();
       const fingerprint = reply.system_fingerprint ?? null;
       return { status: response.status, code: reply.error?.code ?? null, fingerprint };
     };`,
  );
}

interface Asked {
  status: number;
  code: string | null;
  fingerprint: string | null;
}

type Ask = (model: string, content: string, stream: boolean) => Promise<Asked>;

const ask = (page: Page, ...given: Parameters<Ask>): Promise<Asked> =>
  page.evaluate((values) => (window as unknown as { ask: Ask }).ask(...values), given);

describe.each(['dev', 'preview'] as const)('%s', (mode) => {
  test('each error has its status and code, and fallback happens', async () => {
    if (mode === 'preview') await run(folder, process.execPath, '../node_modules/vite/bin/vite.js', 'build');
    await linkModels(join(folder, 'public'));
    const server = await startVite(folder, mode, await freePort(), '/app/');
    const { page } = await openExample(context, server.url);
    const got: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const [name, { model, prompt = 'Hello.', status, code }] of Object.entries(errors))
      for (const stream of [false, true]) {
        const place = stream ? `${name}, streamed` : name;
        expected[place] = { status, code };
        const answer = await ask(page, model, prompt, stream);
        got[place] = { status: answer.status, code: answer.code };
      }
    expect(got).toEqual(expected);
    const fallback = await ask(page, 'falls-back', 'Hello.', false);
    expect(fallback).toMatchObject({ status: 200, fingerprint: expect.stringMatching(/^device/) as string });
  });
});
