import { afterEach, expect, test } from 'vitest';
import { serveArtifacts } from '../../../../src/engines/web-llm/internals/artifact-cache.ts';
import { asLoadFailure } from '../../../../src/engines/web-llm/web-llm-failures.ts';
import { LIBRARY, openModelFiles } from '../../../../src/engines/web-llm/web-llm-files.ts';
import { failure } from '../../../support/failure.ts';
import { mlcVariant } from '../../../support/catalogs.ts';

const variant = mlcVariant('tiny', 'https://libs.example.com/a/tiny.wasm');

const config = {
  vocab_size: 10,
  context_window_size: 2048,
  tokenizer_files: ['tokenizer.json'],
  conv_template: { system_template: '<SYS>', roles: { user: '<用户>' }, seps: ['|'], stop_token_ids: [0] },
};
const tensors = { records: [{ dataPath: 'params_shard_0.bin', nbytes: 3 }] };

const good = (): Record<string, BlobPart> => ({
  'mlc/tiny/mlc-chat-config.json': JSON.stringify(config),
  'mlc/tiny/tensor-cache.json': JSON.stringify(tensors),
  'mlc/tiny/tiny.wasm': '\0asm…',
  'mlc/tiny/params_shard_0.bin': 'abc',
  'mlc/tiny/tokenizer.json': JSON.stringify({
    normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKC' }] },
    added_tokens: [
      { content: '</s>', special: true, normalized: true },
      { content: '<|call|>', special: false },
      ...['<td>', '<用户>', '<SYS>'].map((content) => ({ content, special: false })),
    ],
  }),
});

function open(files: Record<string, BlobPart>) {
  const asked: string[] = [];
  const context = {
    file(path: string): Promise<Blob> {
      asked.push(path);
      const content = files[path];
      return content === undefined
        ? Promise.reject(new Error(`no ${path}`))
        : Promise.resolve(new Blob([content]));
    },
    wasm: (name: string) => name,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  };
  return { asked, opening: openModelFiles(variant, context) };
}

test('a whole model opens, each file once, the library beside it', async () => {
  const { asked, opening } = open(good());
  const files = await opening;
  expect(files.weightBytes).toBe(3);
  const text = '</s> ＜／ｓ＞ <|call|> <用户> <SYS> <td> <|ca{function_string}ll|>';
  const { clientText } = files;
  for (const plain of [clientText.append('', text), clientText.broken(clientText.mark(text))])
    expect(plain).toBe('< /s> < /s> < |call|> < 用户> < SYS> <td> <|ca{ function_string}ll|>');
  expect(files.chatConfig.sliding_window_size).toBe(-1);
  await (await files.read('params_shard_0.bin')).text();
  await files.read('params_shard_0.bin');
  await files.read(LIBRARY);
  expect(asked).toEqual([
    'mlc/tiny/mlc-chat-config.json',
    'mlc/tiny/tensor-cache.json',
    'mlc/tiny/tiny.wasm',
    'mlc/tiny/tokenizer.json',
    'mlc/tiny/params_shard_0.bin',
  ]);
});

test.each([
  ['cut short', { 'mlc/tiny/mlc-chat-config.json': '{"vocab' }, /mlc-chat-config\.json is not JSON/],
  ['of another kind', { 'mlc/tiny/mlc-chat-config.json': '{}' }, /mlc-chat-config\.json .*vocab_size/],
  [
    'with a shard out of its folder',
    { 'mlc/tiny/tensor-cache.json': '{"records":[{"dataPath":"../../x","nbytes":3}]}' },
    /tensor-cache\.json .*records\.0\.dataPath.*plain file name/,
  ],
  [
    'with a negative size',
    { 'mlc/tiny/tensor-cache.json': '{"records":[{"dataPath":"x","nbytes":-3}]}' },
    /records\.0\.nbytes/,
  ],
  [
    'with a page in the place of the library',
    { 'mlc/tiny/tiny.wasm': '<!doctype html>' },
    /tiny\.wasm is not a WebAssembly/,
  ],
])('a model %s is refused, and the file named', async (_, files, message) => {
  const error = await failure(open({ ...good(), ...files }).opening);
  expect(error.message).toMatch(message);
  expect(error).toMatchObject({ wire: { code: 'weights_corrupt' } });
});

test('a shard of another size than its list says is refused when it is read', async () => {
  const files = await open({ ...good(), 'mlc/tiny/params_shard_0.bin': 'ab' }).opening;
  expect((await failure(files.read('params_shard_0.bin'))).message).toMatch(
    /params_shard_0\.bin has 2 bytes, but .* says 3/,
  );
});

afterEach(() => Reflect.deleteProperty(globalThis, 'caches'));

test('web-llm’s caches are answered from the store, names that climb out are not', async () => {
  const served = serveArtifacts((name) => Promise.resolve(new Blob([`<${name}>`])));
  const cache = await caches.open('webllm/model');
  const read = async (url: string) => (await cache.match(new Request(url)))?.text();
  expect(served.baseUrl).toMatch(/\/resolve\/.+\/$/);
  expect(await read(`${served.baseUrl}a%20b.bin`)).toBe('<a b.bin>');
  expect(await cache.keys()).toEqual([]);
  await expect(read(new URL('../../x', served.baseUrl).href)).rejects.toThrow(/outside of its folder/);
  await expect(caches.open('other')).rejects.toThrow(/no Cache API/);
  served.close();
  await expect(read(`${served.baseUrl}a`)).rejects.toThrow(/outside/);
});

test.each([
  [
    'ShaderF16SupportError',
    'This model requires WebGPU extension shader-f16',
    'device_unsupported',
    /needs shader-f16, which this GPU lacks/,
  ],
  [
    'FeatureSupportError',
    'This model requires feature subgroups, which',
    'device_unsupported',
    /needs subgroups/,
  ],
  ['WebGPUNotAvailableError', 'WebGPU is not supported', 'device_unsupported', /needs WebGPU/],
  ['DeviceLostError', 'The WebGPU device was lost while loading', 'out_of_memory', /too little memory/],
  ['Error', 'Cannot find function prefill', 'weights_corrupt', /library lib\.wasm does not belong/],
  ['Error', 'something else', 'engine_failed', /could not be loaded on this GPU: something else/],
])('a %s while loading is told in words: %s', (name, message, code, words) => {
  const failed = asLoadFailure(Object.assign(new Error(message), { name }), 'tiny', 'lib.wasm', true);
  expect(failed).toMatchObject({ code });
  expect(failed.message).toMatch(words);
});
