import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { CHAT_ARCHITECTURES, ENCODERS } from '../../src/gguf/architectures.ts';
import { launch } from '../support/launch.ts';
import { installLlama } from '../support/llama-server/llama-server.ts';
import { openPage } from '../support/open-page.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { addGguf } from '../support/add-gguf.ts';
import { send } from '../support/send.ts';

/** A small model with random weights for each architecture that is accepted: it loads and answers in the page. */

/** Not loaded: no header was found with which random weights run. Of their models PLM's alone (1.8B) fits a page. */
const NOT_RUN = new Set(['chameleon', 'glm5-next', 'grok', 'hy_v4', 'plm', 'rwkv6qwen2']);
/** LOCALTEXT_ARCHITECTURES: names of some, in place of all. */
const ARCHITECTURES =
  process.env['LOCALTEXT_ARCHITECTURES']?.split(' ') ??
  [...CHAT_ARCHITECTURES, ...ENCODERS].filter((name) => !NOT_RUN.has(name));

let context: BrowserContext;
let page: Page;
let key: string;
let folder: string;

beforeAll(async () => {
  folder = await tempFolder('architectures');
  const { python, packages } = await installLlama();
  const [command = '', ...args] = python;
  const script = join(import.meta.dirname, '../support/random-models/random_models.py');
  const env = { ...process.env, PYTHONPATH: packages };
  const { stdout } = spawnSync(command, [...args, script, folder, ...ARCHITECTURES], {
    env,
    encoding: 'utf8',
  });
  expect(stdout.split('\n').filter((line) => line.includes('problem'))).toEqual([]);
  context = await launch();
  ({ page } = await openPage(context, inject('siteUrl')));
  key = await page.evaluate(async () => {
    const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 };
    return (await (await window.localtext).keys.ensure({ label: 'architectures', limits })).key;
  });
});

interface Answer {
  error?: { message: string };
  usage?: { prompt_tokens: number };
  data?: { embedding: number[] }[];
}

/** Adds a file as the user does, asks its model, and removes it. @returns the answer's status and tokens, or numbers of a vector */
async function answerOf(architecture: string): Promise<[number, unknown]> {
  const added = await addGguf(page, join(folder, `${architecture}.gguf`));
  const { id, embedding } = added;
  const content = 'What is the capital of France?';
  const messages = [{ role: 'user', content }];
  const { status, body } = await (embedding
    ? send<Answer>(page, key, '/v1/embeddings', { model: id, input: content })
    : send<Answer>(page, key, '/v1/chat/completions', {
        model: id,
        messages,
        max_tokens: 4,
        temperature: 0,
      }));
  await page.evaluate(async (model) => (await window.localtext).models.remove(model), id);
  return [status, body.error?.message ?? body.data?.[0]?.embedding.length ?? body.usage?.prompt_tokens];
}

test.each(ARCHITECTURES)('a small %s with random weights loads and answers', async (architecture) => {
  const [status, counted] = await answerOf(architecture);
  expect([status, counted]).toEqual([200, expect.any(Number)]);
});
