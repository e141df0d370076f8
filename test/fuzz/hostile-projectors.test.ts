import { createHash } from 'node:crypto';

import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import type { WeightFile } from '../../src/catalog/catalog.ts';
import { readHeader, startOfBlob } from '../../src/gguf/byte-cursor.ts';
import { readGguf } from '../../src/gguf/read-gguf.ts';
import { Random } from '../chaos/random.ts';
import { damaged } from './hostile-file.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { dataUrl, PICTURES } from '../support/vision/pictures.ts';
import { tinyVision } from '../support/vision/tiny-vision.ts';
import { catalogOf, ggufVariant, modelOf } from '../support/catalogs.ts';
import { send } from '../support/send.ts';
import { seed } from './seed.ts';

/** Projectors of the right hash whose contents lie, beside a sound one: llama.cpp reads them in the engine's worker. */

const count = Number(process.env['LOCALTEXT_FUZZ_MODELS'] ?? 50);

const SOUND = 'sound';
/** Bytes of a projector's header, tensors' descriptions included. */
const HEADER = 2000;
const NUMBERS = [0, 1, 3, 0x7fffffff, 0xffffffff];
const KEYS =
  'image_size preproc_image_size patch_size embedding_length feed_forward_length block_count attention.head_count projector.scale_factor'
    .split(' ')
    .map((name) => `clip.vision.${name}`);
/** What may go wrong with a file. */
const NAMED = new Set([
  'model_load_failed',
  'weights_corrupt',
  'out_of_memory',
  'engine_crashed',
  'context_length_exceeded',
  'unsupported_value',
  // Its size of pictures takes more memory than there is.
  'invalid_value',
]);
const MAX_MS = 60_000;

let site: AlteredSite;
let context: BrowserContext;
let page: Page;
let key: string;
const { model, projector } = tinyVision();

function serve(id: string, bytes: Buffer): WeightFile {
  const path = `/hostile/${id}.gguf`;
  site.serve(path, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { path: path.slice(1), bytes: bytes.length, sha256, url: site.url + path };
}

/** The number after the key, which a u32 is. */
function withNumber(name: string, number: number): Buffer {
  const bytes = Buffer.from(projector);
  bytes.writeUInt32LE(number, bytes.indexOf(name) + name.length + 4);
  return bytes;
}

function renamed(from: string, to: string): Buffer {
  const bytes = Buffer.from(projector);
  bytes.write(to, bytes.indexOf(from));
  return bytes;
}

/** Damage that is not seen before llama.cpp reads the file. */
async function unseenDamage(random: Random): Promise<Buffer> {
  for (;;) {
    let bytes = Buffer.from(projector);
    for (let changes = 1 + random.below(3); changes > 0; changes--) bytes = damaged(bytes, HEADER, random);
    const isRead = await readHeader(startOfBlob(new Blob([bytes])), readGguf).then(
      () => true,
      () => false,
    );
    if (isRead && !bytes.equals(projector)) return bytes;
  }
}

const hostile = new Map<string, Buffer>([
  ...KEYS.flatMap((name) =>
    NUMBERS.map((number): [string, Buffer] => [
      `${name.split('.').slice(2).join('-')}-${number}`,
      withNumber(name, number),
    ]),
  ),
  ['no-such-kind', renamed('idefics3', 'idefics9')],
  ['no-tensor', renamed('v.post_ln.weight', 'v.post_lx.weight')],
  ['no-mean', renamed('image_mean', 'image_meam')],
  ['cut-short', projector.subarray(0, projector.length - 20_000)],
]);

beforeAll(async () => {
  for (let index = 0; index < count; index++)
    hostile.set(`damaged-${index}`, await unseenDamage(new Random(seed * 3_000_003 + index)));
  site = await AlteredSite.start(inject('siteUrl'));
  context = await launch();
  const weights = serve('model', model);
  const variants = new Map([[SOUND, projector], ...hostile]);
  const models = [...variants].map(([id, bytes], index) => {
    const files = [weights, { ...serve(`mmproj-${index}`, bytes), role: 'projector' as const }];
    return modelOf(id, [ggufVariant(`w-${index}`, { kvValues: 256, files })]);
  });
  ({ page, key } = await openPage(context, site.url, { catalog: catalogOf(...models) }));
});

interface Answer {
  choices?: { message: { content: string } }[];
  error?: { code: string; message: string };
}

async function ask(id: string) {
  const began = performance.now();
  const content = [
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url: dataUrl(PICTURES[0] ?? Buffer.alloc(0)) } },
  ];
  const json = { model: id, messages: [{ role: 'user', content }], max_tokens: 4, temperature: 0 };
  const { status, body } = await send<Answer>(page, key, '/v1/chat/completions', json);
  const ms = performance.now() - began;
  return { status, text: body.choices?.[0]?.message.content, ...body.error, ms };
}

test(
  `a projector that lies is refused by name, and its model harms no other (${count} damaged, seed ${seed})`,
  { timeout: 1_200_000 + count * 20_000 },
  async () => {
    const sound = await ask(SOUND);
    expect(sound.status).toBe(200);
    const faults: string[] = [];
    const seen: Record<string, number> = {};
    for (const id of hostile.keys()) {
      const { status, code, message, ms } = await ask(id);
      const what = status === 200 ? '200' : `${status} ${code}`;
      seen[what] = (seen[what] ?? 0) + 1;
      console.log(`${id}: ${what} after ${Math.round(ms)} ms: ${message ?? ''}`);
      if (ms > MAX_MS || (status !== 200 && !NAMED.has(code ?? ''))) faults.push(`${id}: ${what}`);
      const { text } = await ask(SOUND);
      if (text !== sound.text) faults.push(`${id}: the sound model says ${text}`);
    }
    console.log(JSON.stringify(seen));
    expect(faults).toEqual([]);
  },
);
