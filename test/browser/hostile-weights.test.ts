import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import type { CatalogModel, Variant, WeightFile } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { ByteCursor } from '../../src/gguf/byte-cursor.ts';
import { readGguf } from '../../src/gguf/read-gguf.ts';
import { firstLayers } from '../support/first-layers.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { tinyGguf } from '../unit/gguf/tiny-gguf.ts';
import { small as smolLm2 } from '../support/small-variant.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { embed } from '../support/ask-page.ts';
import { catalogOf, modelOf } from '../support/catalogs.ts';

const SOUND = 'sound-1';
const CHAT_FILE = 'smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';

let site: AlteredSite;
let context: BrowserContext;
let models: CatalogModel[];

const named = (name: string): Variant => {
  const variants = defaultCatalog.models.flatMap((model) => model.variants);
  const variant = variants.find((each) => each.name === name);
  if (!variant) throw new Error(`the default catalog has no ${name}`);
  return variant;
};
const miniLm: Variant = { ...named('all-minilm-l6-v2-f32'), optIn: false };

/** Served under its own address, with the hash that it has. */
function serve(id: string, path: string, bytes: Buffer): WeightFile {
  const name = `/hostile/${id}`;
  site.serve(name, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { path, bytes: bytes.length, sha256, url: site.url + name };
}

function chat(id: string, bytes: Uint8Array): CatalogModel {
  const files = [serve(id, `hostile/${id}.gguf`, Buffer.from(bytes))];
  return modelOf(id, [{ ...smolLm2, name: `${id}-w`, files }]);
}

/** One word of a GGUF's header, the first after `key`, becomes another of the same length. */
function renamed(bytes: Buffer, from: string, to: string, key = ''): Buffer {
  const copy = Buffer.from(bytes);
  copy.write(to, copy.indexOf(from, copy.indexOf(key)));
  return copy;
}

/** A model whose feed-forward network has the bits of a half float as the scale of a block. */
function withScale(file: Buffer, bits: number): Buffer {
  const copy = Buffer.from(file);
  const { dataOffset, tensors } = readGguf(new ByteCursor(new Uint8Array(file), file.length));
  const tensor = tensors.find(({ name }) => name === 'blk.0.ffn_up.weight');
  if (tensor?.type !== Q4_1) throw new Error('the tensor is of another type');
  copy.writeUInt16LE(bits, dataOffset + tensor.offset + 1000 * Q4_1_BYTES);
  return copy;
}
const RAISES = ["'<|im_start|>' + message['role'] +", "raise_exception('Not a role') +   "] as const;
const Q4_1 = 3;
const Q4_1_BYTES = 20;

const stored = (path: string): Promise<Buffer> => readFile(`public/models/${path}`);

beforeAll(async () => {
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  context = await launch();
  const real = await stored(CHAT_FILE);
  const small = await firstLayers(`public/models/${CHAT_FILE}`, 1);
  const huge = smolLm2.files.map((file) => ({ ...file, bytes: 2 ** 52, path: 'hostile/huge.gguf' }));
  models = [
    modelOf(SOUND, [miniLm], 'embedding'),
    chat('no-gguf', Buffer.from('<html>Please log in</html>')),
    chat('cut-short', real.subarray(0, 3_500_000)),
    // Its head is sound, and it is no model.
    chat('no-model', tinyGguf()),
    // llama.cpp alone can tell what is wrong with these.
    chat('no-tensor', renamed(small, 'blk.0.attn_q.weight', 'blk.0.attn_x.weight')),
    chat('no-pre-tokenizer', renamed(small, 'smollm', 'smellm', 'tokenizer.ggml.pre')),
    chat('infinite', withScale(small, 0x7c00)),
    chat('nan', withScale(small, 0xfe00)),
    chat('largest', withScale(small, 0x7bff)),
    chat('no-merges', renamed(small, 'tokenizer.ggml.merges', 'tokenizer.ggml.verges')),
    chat('raises', renamed(small, ...RAISES)),
    modelOf('huge', [{ ...smolLm2, name: 'huge-w', files: huge }]),
  ];
});

const failureOf = (page: Page, model: string): Promise<{ code?: string; message: string }> =>
  page.evaluate(async (id) => {
    const failure: unknown = await (await window.localtext).ready(id).catch((error: unknown) => error);
    const { code, message } = (failure ?? {}) as { code?: string; message?: string };
    return { ...(code !== undefined && { code }), message: message ?? 'loaded' };
  }, model);

test('hostile weights with the right hash are refused by name, and other models keep answering', async () => {
  const { page, key } = await openPage(context, site.url, { catalog: catalogOf(...models) });
  const dimensions = async () => (await embed(page, key, SOUND, 'hello'))[0]?.length;
  expect(await dimensions()).toBe(384);
  const expected: [string, string, RegExp][] = [
    ['no-gguf', 'weights_corrupt', /^The weight file hostile\/no-gguf\.gguf is not a GGUF/],
    [
      'cut-short',
      'weights_corrupt',
      /^The weight file hostile\/cut-short\.gguf says that its tensor .* and has 3500000/,
    ],
    ['no-model', 'model_load_failed', /hostile\/no-model\.gguf names no architecture/],
    ['no-tensor', 'model_load_failed', /says of its file: .*tensor 'blk\.0\.attn_q\.weight' not found/],
    ['no-pre-tokenizer', 'model_load_failed', /says of its file: .*unknown pre-tokenizer type: 'smellm'/],
    ['no-merges', 'model_load_failed', /says of its file: .*merges/],
    ['infinite', 'model_load_failed', /its tensor blk\.0\.ffn_up\.weight has a number that is infinite/],
    ['nan', 'model_load_failed', /its tensor blk\.0\.ffn_up\.weight has a number/],
    ['largest', 'model_load_failed', /its tensor blk\.0\.ffn_up\.weight has a number/],
    ['huge', 'model_unavailable', /huge-w: needs 4503599\.6 GB of storage/],
  ];
  for (const [id, code, message] of expected) {
    const at = Date.now();
    const failure = await failureOf(page, id);
    console.log(`${id}: ${Date.now() - at} ms: ${failure.message}`);
    expect(failure).toEqual({ code, message: expect.stringMatching(message) as string });
    expect(await dimensions()).toBe(384);
  }
  // Its template fails a request, and not llama.cpp, which would try it out.
  expect(await failureOf(page, 'raises')).toEqual({ message: 'loaded' });
  // A later worker, too, has it from the store.
  await page.reload();
  site.handlers.clear();
  expect(await dimensions()).toBe(384);
});
