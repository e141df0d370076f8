import { expect, test } from 'vitest';

import { FakeLlamaServer } from '../../../support/llama-calls/fake-llama-server.ts';
import { EXPECTED, observeCalls } from '../../../support/llama-calls/observe-calls.ts';

test('the fake of llama.cpp’s server does what the real one does', async () => {
  const ask = (length: number) => (tokens: number) => ({ prompt: 'x'.repeat(length), n_predict: tokens });
  const tooLong = { prompt: `${'x'.repeat(200)}<eos>` };
  const requests = { short: ask(100), long: ask(1500), refused: { prompt: 'bad' }, tooLong };
  expect(await observeCalls(new FakeLlamaServer(), requests)).toEqual(EXPECTED);
});
