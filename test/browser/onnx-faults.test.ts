import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { running } from '../support/tiny-onnx/hostile-graphs.ts';
import { serveModels, type ModelServer } from '../support/tiny-onnx/serve-models.ts';
import { tinyModel, tinyVariant, type TinyFiles } from '../support/tiny-onnx/tiny-model.ts';
import { send } from '../support/send.ts';
import { catalogOf, modelOf } from '../support/catalogs.ts';
import { embed } from '../support/ask-page.ts';

let context: BrowserContext;
let server: ModelServer;
let site: AlteredSite;

/** A channel on which the models' workers are told to end. */
const END = 'end-onnx';

const good = tinyModel();
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const half = (name: string, bytes = 100): TinyFiles => ({ [name]: (good[name] ?? utf8('')).slice(0, bytes) });
const NO_TOKENIZER = 'tokenizer.json is not a tokenizer';
const NO_GRAPH = 'onnx/model.onnx cannot be run with its config by ONNX Runtime';
const tokenizer = JSON.parse(new TextDecoder().decode(good['tokenizer.json'])) as { model: object };
const altered = (changes: object): TinyFiles => ({
  'tokenizer.json': utf8(JSON.stringify({ ...tokenizer, ...changes })),
});
const negative = { ...tokenizer.model, vocab: { a: -3 } };
/** A tokenizer with a normalizer whose expression never ends on a text with that word. */
const endlessOn = (word: string): TinyFiles => {
  const normalizers = [
    { type: 'Replace', pattern: { String: word }, content: `${'a'.repeat(40)}b` },
    { type: 'Replace', pattern: { Regex: '(a+)+$' }, content: '' },
  ];
  return altered({ normalizer: { type: 'Sequence', normalizers } });
};
const trap = { ...good, ...endlessOn('lamp') };
const shape = { ...good, 'onnx/model.onnx': running['another-shape'] };

/** What is wrong with each, and what the error says of it. All have the hashes that the catalog names. */
const faults: Record<string, { files: TinyFiles; says: string }> = {
  'config-cut': { files: half('config.json'), says: 'config.json is not JSON, or cut short' },
  'tokenizer-cut': { files: half('tokenizer.json'), says: 'tokenizer.json is not JSON, or cut short' },
  'tokenizer-none': { files: { 'tokenizer.json': utf8('[]') }, says: 'tokenizer.json is not a JSON object' },
  'tokenizer-other': { files: altered({ model: { type: 'Nonsense' } }), says: NO_TOKENIZER },
  'tokenizer-negative': { files: altered({ model: negative }), says: NO_TOKENIZER },
  'tokenizer-endless': { files: endlessOn('a'), says: 'tokenizer.json was not read within 20 s' },
  'graph-cut': { files: half('onnx/model.onnx', 3000), says: NO_GRAPH },
  'graph-none': { files: { 'onnx/model.onnx': utf8('<!doctype html>') }, says: NO_GRAPH },
};

beforeAll(async () => {
  const models = Object.entries(faults).map(([name, { files }]) => [name, { ...good, ...files }] as const);
  server = await serveModels({ ...Object.fromEntries(models), fine: good, trap, shape });
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  site.workerPrefix = `if (self.name === 'localtext-helper') {
    const channel = new BroadcastChannel('${END}');
    channel.onmessage = () => { channel.postMessage('ended'); self.close(); };
  }\n`;
  context = await launch();
});

test('a truncated, false or wrong file is named in the error, and all other models keep running', async () => {
  const variants = [...Object.keys(faults), 'fine'].map((name) =>
    tinyVariant({ ...good, ...faults[name]?.files }, server.url, name),
  );
  variants.push(tinyVariant(trap, server.url, 'trap'), tinyVariant(shape, server.url, 'shape'));
  const embedding = defaultCatalog.models.find(({ kind }) => kind === 'embedding');
  const catalog = catalogOf(...variants.map((variant) => modelOf(variant.name, [variant], 'embedding')));
  if (embedding) catalog.models.push(embedding);
  const { page, key } = await openPage(context, site.url, { catalog });
  const failure = (model: string): Promise<string> =>
    page.evaluate(
      async (id) =>
        (await window.localtext).ready(id, { signal: AbortSignal.timeout(60_000) }).then(
          () => 'loaded',
          (error: unknown) => String(error),
        ),
      model,
    );
  const vectorOf = async (model: string) => (await embed(page, key, model, 'a lamp'))[0] ?? [];
  const status = async (model: string, input: string): Promise<string> => {
    const { status: code, text } = await send(page, key, '/v1/embeddings', { model, input });
    return `${code} ${code === 200 ? '' : text}`;
  };
  const before = await vectorOf('fine');
  expect(before).toHaveLength(16);
  expect(Math.hypot(...before)).toBeCloseTo(1, 5);
  for (const [name, { says }] of Object.entries(faults)) {
    expect.soft(await failure(name), name).toContain(`${name}/${says}`);
    expect(await vectorOf('fine'), name).toEqual(before);
  }
  expect(await status('shape', 'a lamp')).toMatch(
    /^500 .*onnx.*its output is float32\[1,12,8\] for tokens of \[1,6\]/,
  );
  // A tokenizer that waits for a word holds its own model alone, and answers other texts afterwards.
  expect(await failure('trap')).toBe('loaded');
  const trapped = status('trap', 'a lamp');
  expect(await Promise.race([trapped, vectorOf('fine')])).toEqual(before);
  expect(await trapped).toMatch(/^500 .*tokenizer takes longer than 10 s for a text/);
  expect(await status('trap', 'a door')).toMatch(/^200/);

  // The models' workers end while nothing runs, as when the browser has no more memory: the request is sent again.
  await page.evaluate((name) => {
    const channel = new BroadcastChannel(name);
    const ended = new Promise((resolve) => (channel.onmessage = resolve));
    channel.postMessage(null);
    return ended.then(() => undefined);
  }, END);
  expect(await vectorOf('fine')).toEqual(before);

  // Loaded after all that: a load that failed keeps no other from loading.
  expect(await failure('jade-mole-4')).toBe('loaded');
  expect(await vectorOf('jade-mole-4')).toHaveLength(384);
});
