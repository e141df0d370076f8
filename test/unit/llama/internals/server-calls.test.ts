import type { Wllama } from '@wllama/wllama';
import { expect, test } from 'vitest';

import { LlamaReplyReader } from '../../../../src/engines/wllama/completion-format.ts';
import {
  NativeLog,
  RequestRejectedError,
  serverCalls,
  ServerMemoryError,
} from '../../../../src/llama/internals/server-calls.ts';

/** What each browser makes of an answer that was never written. */
const MARKERS = [
  'Invalid typed array length: 1163217991',
  'Invalid magic number',
  'attempting to construct out-of-bounds Uint8Array on ArrayBuffer',
  'Length out of range of buffer',
];
const NO_MEMORY = 'exception: std::bad_alloc';

/** A worker whose calls fail with this, after llama.cpp has logged that. */
function failing(message: string, logged: string | null) {
  const log = new NativeLog();
  const wllamaAction = async () => {
    if (logged !== null) log.error(logged);
    throw new RangeError(message);
  };
  return serverCalls({ proxy: { wllamaAction } } as unknown as Wllama, log);
}

test.each(MARKERS)('a request that is not understood is refused: %s', async (message) => {
  await expect(failing(message, 'parse error').begin({})).rejects.toBeInstanceOf(RequestRejectedError);
});

test.each(MARKERS)('an allocation that fails is no fault of the request: %s', async (message) => {
  const calls = failing(message, NO_MEMORY);
  await expect(calls.begin({})).rejects.toBeInstanceOf(ServerMemoryError);
  await expect(calls.step(1)).rejects.toBeInstanceOf(ServerMemoryError);
});

test('a request that is refused with a reason has it as its message', async () => {
  const refusing = (message: string) =>
    serverCalls(
      { proxy: { wllamaAction: async () => ({ success: false, message, req_id: 0 }) } } as unknown as Wllama,
      new NativeLog(),
    ).beginEmbedding('text');
  await expect(refusing('Input content cannot be empty')).rejects.toThrow(
    new RequestRejectedError('Input content cannot be empty'),
  );
  await expect(refusing('std::bad_alloc')).rejects.toBeInstanceOf(ServerMemoryError);
});

/** A worker that answers with these results. */
function answering(...results: object[]) {
  const wllamaAction = async () => ({
    has_more: results.length > 1,
    is_error: false,
    data_json: JSON.stringify(results.shift()),
  });
  return serverCalls({ proxy: { wllamaAction } } as unknown as Wllama, new NativeLog());
}

/** A byte as tools/kernels/server.h writes it. */
const escaped = (...bytes: number[]): string =>
  bytes.map((byte) => String.fromCharCode(0xfdd0 + (byte >> 4), 0xfdd0 + (byte & 15))).join('');

test('a character that is spread over tokens is joined, and each token has its score', async () => {
  const token = (text: string) => ({
    choices: [{ text, logprobs: { content: [{ token: text, logprob: -1, bytes: [0xf0] }] } }],
  });
  const calls = answering(token(`a${escaped(0xf0, 0x9f)}`), token(escaped(0x98)), token(`${escaped(0x80)}b`));
  const texts: unknown[] = [];
  const tokens: unknown[] = [];
  for (let more = true; more;) {
    const result = await calls.step(1);
    ({ more } = result);
    texts.push(...result.chunks.map(({ choices }) => choices?.[0]?.text));
    tokens.push(...result.chunks.map(({ choices }) => choices?.[0]?.logprobs?.content?.[0]?.token));
  }
  expect(texts).toEqual(['a', '', '😀b']);
  expect(tokens).toEqual(['a\\xf0\\x9f', '\\x98', '\\x80b']);
});

test('bytes that are no character are replaced; replies are joined each by itself', async () => {
  const chunk = (text: string) => ({ choices: [{ text }] });
  const calls = answering(chunk(escaped(0xf0, 0x9f)), chunk('x'), chunk(`${escaped(0x80)}y`));
  const textOf = async (id: number) => (await calls.step(id)).chunks[0]?.choices?.[0]?.text;
  expect([await textOf(1), await textOf(2), await textOf(1)]).toEqual(['', 'x', '\ufffdy']);
});

test.each(MARKERS)('any other exception of a step or a cancel ends the server: %s', async (message) => {
  for (const logged of ['empty grammar stack', null]) {
    const calls = failing(message, logged);
    for (const call of [calls.step(1), calls.cancel(1)]) {
      const error: unknown = await call.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RangeError);
    }
  }
});

test('an error that was logged before does not excuse the next one', async () => {
  const calls = failing(MARKERS[0] ?? '', NO_MEMORY);
  await expect(calls.step(1)).rejects.toBeInstanceOf(ServerMemoryError);
  const log = new NativeLog();
  log.error(NO_MEMORY);
  expect([log.takeBadAlloc(), log.takeBadAlloc()]).toEqual([true, false]);
});

const K_CACHE = 'K cache type q8_0 with block size 32 does not divide n_embd_head_k=80';
const NO_ADAPTER = "failed to apply lora adapter: tensor 'x' has incorrect shape";
test.each([
  [`llama_model_load: error loading model: missing tensor 'x'`, "missing tensor 'x'"],
  [`llama_init_from_model: ${K_CACHE}`, K_CACHE],
  [`llama_adapter_lora_init: ${NO_ADAPTER}`, NO_ADAPTER],
  ['ggml_aligned_malloc: insufficient memory (attempted to allocate 1 MB)', expect.stringMatching(/^insuff/)],
  ['/ggml/src/ggml-cpu/ops.cpp:9: GGML_ASSERT(eps >= 0.0f) failed', 'GGML_ASSERT(eps >= 0.0f) failed'],
  ['load_tensors: loading model tensors', null],
])('the reason of a failed load is kept: %s', (line, reason) => {
  const log = new NativeLog();
  log[line.includes('GGML_ASSERT') ? 'log' : 'error'](line);
  if (line.includes('adapter')) log.error("common_init: failed to load lora adapter 'models/a.gguf'");
  log.error('failed to load model');
  expect(log.loadError).toEqual(reason);
});

test('a first result that is not UTF-8 is given after the reply was accepted, with the right counts', () => {
  const reader = new LlamaReplyReader(undefined, 'f');
  const timings = { cache_n: 2, prompt_n: 5, prompt_ms: 1, predicted_n: 2, predicted_ms: 1 };
  const events = [
    ...reader.read({ choices: [{ text: '\ufffd' }] }),
    ...reader.read({ choices: [{ text: 'b' }], timings }),
    ...reader.end(),
  ];
  expect(events.map(({ type }) => type)).toEqual(['accepted', 'delta', 'done']);
  expect(events[0]).toMatchObject({ accepted: { promptTokens: 7, cachedTokens: 2 } });
  expect(events[1]).toMatchObject({ delta: { text: '\ufffdb', tokens: 2 } });
});
