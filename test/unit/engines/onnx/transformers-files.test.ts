import { expect, test } from 'vitest';

import type { EngineContext } from '../../../../src/engine-kit/engine.ts';
import {
  buildsOf,
  checkConfigs,
  dataFilesOf,
  graphFailure,
  graphOf,
  readTokenizerFiles,
  requireFiles,
  runFailure,
} from '../../../../src/engines/onnx/transformers-files.ts';
import { contextOf, variantOf } from '../transformers/variant-of.ts';
import { failure } from '../../../support/failure.ts';

const whole = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'onnx/model_q4f16.onnx'];

test.each([
  ['onnx/encoder_model_fp16.onnx', 'onnx/decoder_model_merged_q4.onnx', 'fp16', 'q4'],
  ['onnx/encoder_model.onnx', 'onnx/decoder_model_merged_quantized.onnx', 'fp32', 'q8'],
  ['onnx/encoder_model_quantized.onnx', 'onnx/decoder_model_merged_q4f16.onnx', 'q8', 'q4f16'],
])('each part of a model has the build of its file: %s, %s', (encoder, decoder, first, second) => {
  const builds = buildsOf(variantOf('config.json', decoder, encoder), [
    'encoder_model',
    'decoder_model_merged',
  ]);
  expect(builds).toEqual({ encoder_model: first, decoder_model_merged: second });
});

test.each([
  ['{"model_type":"lla', /a\/tiny\/config\.json is not JSON, or cut short/],
  ['[]', /config\.json is not a model's config: : /],
  ['{}', /config\.json is not a model's config: model_type/],
  ['{"model_type":"llama","num_hidden_layers":1e9}', /: num_hidden_layers: /],
  ['{"model_type":"llama","num_hidden_layers":-1}', /: num_hidden_layers: /],
  ['{"model_type":"whisper","decoder_layers":1e9}', /: decoder_layers: /],
  ['{"model_type":"llama","vocab_size":"many"}', /: vocab_size: /],
])('a config that is %s', async (text, says) => {
  const error = await failure(checkConfigs(variantOf(...whole), contextOf({ 'config.json': text })));
  expect(error).toMatchObject({ wire: { status: 500, code: 'weights_corrupt' } });
  expect(String(error)).toMatch(says);
});

test('a config of the usual kind is accepted, with unknown fields', async () => {
  const context = contextOf({ 'config.json': '{"model_type":"llama","num_hidden_layers":2,"more":[1]}' });
  await expect(checkConfigs(variantOf(...whole), context)).resolves.toBeUndefined();
});

test.each([['config.json'], ['tokenizer.json'], ['tokenizer_config.json'], ['onnx/model_q4f16.onnx']])(
  'a catalog that lacks %s is told so',
  async (name) => {
    const error = await failure(checkConfigs(variantOf(...whole.filter((it) => it !== name)), contextOf({})));
    expect(error).toMatchObject({ wire: { code: 'weights_unavailable' } });
    expect(String(error)).toContain(name.replace('model_q4f16', 'model'));
  },
);

test('a config or a tokenizer beyond its bound is not read', async () => {
  const sized = (name: string, size: number): EngineContext => ({
    ...contextOf({}),
    file: async (path) =>
      path.endsWith(`/${name}`) ? ({ size, text: () => expect.fail() } as unknown as Blob) : new Blob(['{}']),
  });
  const config = await failure(checkConfigs(variantOf(...whole), sized('config.json', 2 ** 23)));
  expect(String(config)).toMatch(/config\.json has 8388608 bytes; the limit is 4194304/);
  for (const [name, size] of [
    ['tokenizer.json', 2 ** 27],
    ['tokenizer_config.json', 2 ** 23],
  ] as const) {
    const error = await failure(readTokenizerFiles(variantOf(...whole), sized(name, size)));
    expect(error).toMatchObject({ wire: { status: 500, code: 'weights_corrupt' } });
    expect(String(error)).toContain(`${name} has ${size} bytes; the limit is`);
  }
});

test('what the runtime says is distinguished', () => {
  const variant = variantOf(...whole);
  const of = (message: string) => graphFailure(new Error(message), variant).wire;
  const prefix = "Can't create a session. ERROR_CODE: 7, ERROR_MESSAGE: ";
  expect(of(`${prefix}Failed to load model because protobuf parsing failed.`)).toMatchObject({
    code: 'weights_corrupt',
    message: expect.stringMatching(
      /^The weight file a\/tiny\/onnx\/model_q4f16\.onnx cannot be run with its config by ONNX Runtime \(Failed to load/,
    ) as string,
  });
  expect(of('std::bad_alloc').code).toBe('out_of_memory');
  expect(of('12345678').code).toBe('out_of_memory');
  expect(of('ERROR_CODE: 9, ERROR_MESSAGE: Could not find an implementation for X(1)').code).toBe(
    'device_unsupported',
  );
  expect(runFailure(new Error('Got invalid dimensions'), variant).code).toBe('weights_corrupt');
  for (const passing of [new WebAssembly.RuntimeError('unreachable'), new Error('std::bad_alloc'), 5_243_904])
    expect(runFailure(passing, variant).code).toBe('engine_crashed');
});

test('the catalog’s list says which graph is loaded, and in how many files its tensors lie', () => {
  expect(graphOf(variantOf(...whole))).toBe('model_q4f16');
  expect(dataFilesOf(variantOf(...whole))).toBe(0);
  const parts = ['onnx/model_q4f16.onnx_data', 'onnx/model_q4f16.onnx_data_1'];
  expect(dataFilesOf(variantOf(...whole, ...parts))).toBe(2);
  expect(dataFilesOf(variantOf(...whole, 'model.safetensors'))).toBe(1);
});

test('a file that the catalog lacks is named; a graph may be quantized', () => {
  const needed = ['config.json', 'onnx/encoder_model.onnx'];
  expect(() =>
    requireFiles(variantOf('config.json', 'onnx/encoder_model_quantized.onnx'), needed),
  ).not.toThrow();
  for (const [missing, listed] of [
    ['config.json', 'onnx/encoder_model.onnx'],
    ['onnx/encoder_model.onnx', 'config.json'],
  ] as const)
    expect(() => requireFiles(variantOf(listed), needed)).toThrow(
      `${missing}, which the catalog does not list`,
    );
});
