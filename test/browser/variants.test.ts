import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';
import type { Catalog, UpstreamVariant, WebLlmVariant } from '../../src/catalog/catalog.ts';
import { small } from '../support/small-variant.ts';
import { openPage } from '../support/open-page.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { send } from '../support/send.ts';

const siteUrl = inject('siteUrl');
let context: BrowserContext;

beforeAll(async () => {
  context = await launchWithWeights({ webgpu: 'software' });
});

const base = { license: 'Apache-2.0', contextLength: 2048 };
/** Its files are not on the site: loading it fails. */
const absent: WebLlmVariant = {
  ...base,
  engine: 'web-llm',
  name: 'absent-f32',
  library: 'mlc/absent/absent.wasm',
  files: ['mlc-chat-config.json', 'tensor-cache.json', 'absent.wasm'].map((name) => ({
    path: `mlc/absent/${name}`,
    bytes: 10,
    sha256: 'a'.repeat(64),
  })),
  needs: { webgpu: false },
};
const half: WebLlmVariant = {
  ...absent,
  name: 'absent-f16',
  needs: { webgpu: true, features: ['shader-f16'] },
};
/** Nobody listens on port 9. */
const down: UpstreamVariant = {
  ...base,
  engine: 'upstream',
  name: 'server',
  files: [],
  baseUrl: 'http://localhost:9/v1',
  model: 'x',
};

const catalog: Catalog = {
  ownedBy: 'test',
  models: [{ id: 'own-1', kind: 'chat', created: 1, variants: [half, absent, down, small] }],
  aliases: { 'gpt-4o-mini': 'own-1' },
};

const path = (options: object): string =>
  `/test-page.html?options=${encodeURIComponent(JSON.stringify(options))}`;

test('where a GPU build, its files and a server all fail, the small weights answer, and the status says why', async () => {
  const { page, key } = await openPage(
    context,
    siteUrl,
    path({ catalog, upstreamKeys: { server: 'sk-secret' } }),
  );
  const reply = await page.evaluate(async (apiKey) => {
    const {
      model,
      choices,
      system_fingerprint: fingerprint,
    } = await window.client(apiKey).chat.completions.create({
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Say hello.' }],
      max_tokens: 4,
    });
    return { model, text: choices[0]?.message.content, fingerprint };
  }, key);
  expect(reply.text?.length).toBeGreaterThan(0);
  expect(reply.fingerprint).toMatch(new RegExp(`^${small.name}`));
  const { models } = await page.evaluate(async () => (await window.localtext).status());
  const reasons = models.find(({ id }) => id === 'own-1')?.reasons ?? [];
  expect(reasons.find(({ variant }) => variant === 'absent-f16')).toMatchObject({
    chosen: false,
    reason: 'needs a GPU, and WebGPU runs in software here',
  });
  expect(JSON.stringify(models)).not.toContain('sk-secret');
  expect((await send(page, key, '/v1/models/gpt-4o-mini')).body).toMatchObject({
    id: 'gpt-4o-mini',
    owned_by: 'test',
    localtext: {
      variant: small.name,
      engine: small.engine,
      state: 'ready',
      reasons: expect.any(Array) as unknown[],
    },
  });
  await page.close();
});
