import { beforeEach, expect, test, vi } from 'vitest';

import { serverError } from '../../../../src/base/errors/service-error.ts';
import { voices } from '../../../../src/catalog/media-models.ts';
import type { EngineContext, EnginePlugin } from '../../../../src/engine-kit/engine.ts';
import { loadVoice } from '../../../../src/engines/voice/load-voice.ts';
import { plugin } from '../../../../src/engines/voice/plugin.ts';
import type { PageServices } from '../../../../src/protocol/page-services.ts';
import { lastOf } from '../../../support/last-of.ts';
import type { VoiceVariant } from '../../../../src/engines/voice/rules.ts';

const worker = vi.hoisted(() => ({
  read: async (_name: string): Promise<unknown> => null,
  call: vi.fn(),
  end: vi.fn(),
}));
vi.mock('../../../../src/engine-kit/helper-worker.ts', () => ({
  openHelper: async (_name: string, load: (voice: object) => Promise<unknown>) => {
    await load({ load: async (...[, , , read]: (typeof worker.read)[]) => read && (worker.read = read) });
    return worker;
  },
}));

const variant = voices.models?.[0]?.variants[0] as VoiceVariant;
const missing = serverError('weights_missing', 'There is no heart.onnx.');
let isMissing = false;
const written = 'months abbreviations titles units symbols currency'.split(' ').map((name) => [name, {}]);
/** Tables by name; all others are `{}`. */
const sound: Record<string, unknown> = {
  'tagger.gzip': { tags: ['NN'], tagdict: {}, vocab: [], weights: {} },
  'written-forms.json': { ...Object.fromEntries(written), roman_cardinal: [], roman_ordinal: [] },
  'unknown-words.json': { in: [], out: [], maxlen: 9 },
};
let tables = sound;
/** Aborted when a file cannot be opened, as a load does. */
const loading = new AbortController();
const file = async (path: string): Promise<Blob> => {
  if (isMissing && path.endsWith('heart.onnx')) {
    loading.abort(missing);
    throw missing;
  }
  const { body } = new Response(JSON.stringify(tables[path.split('/').at(-1) ?? ''] ?? {}));
  const bytes = path.endsWith('.gzip') ? body?.pipeThrough(new CompressionStream('gzip')) : body;
  return new Response(bytes).blob();
};
const wasm = (name: string): string => name;
const context = { file, wasm, signal: loading.signal } as Partial<EngineContext> as EngineContext;

beforeEach(() => {
  isMissing = false;
  tables = { ...sound };
  vi.stubGlobal('crossOriginIsolated', false);
});

test.each([
  ['lexicon-gold.gzip', [], /lexicon-gold\.gzip is not a table of a voice/],
  ['lexicon-silver.gzip', 'a'.repeat(2 ** 24), /silver\.gzip has more than 16777216 bytes of text/],
  ['tagger.gzip', null, /tagger\.gzip is not a table of a voice/],
  ['vocabulary.json', { h: 'x' }, /vocabulary\.json is not a table of a voice: h: /],
  ['vocabulary.json', { h: 178 }, /vocabulary\.json is not a table of a voice: h: .*<=177/],
])('a damaged table is named: %s', async (name, text, says) => {
  tables[name] = text;
  await expect(loadVoice(variant, context)).rejects.toThrow(says);
});

test('a style of another length than styles have is named', async () => {
  const files = variant.files.map((each) => ({ ...each, path: 'kokoro/voices/heart.bin', bytes: 2000 }));
  await expect(loadVoice({ ...variant, files }, context)).rejects.toThrow(
    'kokoro/voices/heart.bin has 2000 bytes, which are no styles',
  );
});

test('a voice whose graph fails on a sentence names its file, and is not loaded again', async () => {
  const engine = await loadVoice(variant, context);
  worker.call.mockRejectedValueOnce(new Error('the voice gives no f0'));
  const job = { kind: 'speech', model: 'voice', text: 'a', format: 'pcm', speed: 1 } as const;
  await expect(lastOf(engine.run(job, loading.signal))).rejects.toThrow(/heart\.onnx .* gives no f0/);
});

// transformers.js may wait for the file forever, and so would the request.
test('a voice whose file is lost after the load ends its worker', async () => {
  await loadVoice(variant, context);
  isMissing = true;
  await expect(worker.read('heart.onnx')).rejects.toBe(missing);
  expect(worker.end).toHaveBeenCalledWith(
    expect.objectContaining({ code: 'engine_crashed', cause: missing }),
  );
});

test('a voice that cannot be fetched fails the load, not the first sentence', async () => {
  isMissing = true;
  await expect(loadVoice(variant, context)).rejects.toBe(missing);
});

test('a browser without shared WebAssembly memory is told so before a download', async () => {
  vi.stubGlobal('WebAssembly', {});
  const { unmet }: Pick<EnginePlugin<VoiceVariant>, 'unmet'> = plugin;
  expect(await unmet?.(variant, context as PageServices)).toMatch(/needs shared WebAssembly memory/);
});
