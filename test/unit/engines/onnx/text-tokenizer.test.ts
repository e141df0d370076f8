import { expect, test, vi } from 'vitest';

import type { openHelper } from '../../../../src/engine-kit/helper-worker.ts';
import { openTokenizer, type TextTokenizer } from '../../../../src/engines/onnx/text-tokenizer.ts';
import { engineCrashed } from '../../../../src/base/errors/engine-errors.ts';
import { abortable } from '../../../../src/base/async.ts';
import { sleep, virtualTime } from '../../../support/virtual-time.ts';
import { contextOf, variantOf } from '../transformers/variant-of.ts';

virtualTime();

interface FakeTokenizer {
  load(): Promise<object>;
  tokenize(texts: readonly string[]): Promise<(number[] | number)[]>;
}

const FACTS = { before: [1], after: [2], vocabularySize: 10 };
const sound: FakeTokenizer = {
  load: async () => FACTS,
  tokenize: async (texts) => texts.map(({ length }) => [1, length, 2]),
};
/** The next workers, and how to end those that were opened. */
let next: FakeTokenizer[] = [];
const opened: { end(reason: unknown): void }[] = [];

vi.mock(import('../../../../src/engine-kit/helper-worker.ts'), () => ({
  openHelper: (async (_: string, load: (helper: FakeTokenizer) => Promise<unknown>) => {
    const tokenizer = next.shift() ?? sound;
    const gone = new AbortController();
    const end = (reason: unknown = new Error('ended')) => gone.abort(reason);
    opened.push({ end });
    await abortable(load(tokenizer), gone.signal);
    return {
      call: <T>(call: (helper: FakeTokenizer) => Promise<T>) => abortable(call(tokenizer), gone.signal),
      end,
    };
  }) as unknown as typeof openHelper,
}));

const variant = variantOf('config.json', 'tokenizer.json', 'tokenizer_config.json');
const context = contextOf({});
const fails = (call: Promise<unknown>, code: string, message = /./): Promise<void> =>
  expect(call).rejects.toMatchObject({ wire: { code, message: expect.stringMatching(message) as string } });
const never = (): Promise<never> => new Promise(() => undefined);

async function open(...workers: FakeTokenizer[]): Promise<TextTokenizer> {
  next = workers;
  opened.length = 0;
  return openTokenizer(variant, context);
}

test('wraps ids in the special tokens, once, and knows which are none', async () => {
  const tokenizer = await open();
  expect(await tokenizer.tokenize(['abc'])).toEqual([[1, 3, 2]]);
  expect(tokenizer.wrap([5])).toEqual([1, 5, 2]);
  expect(tokenizer.wrap([1, 5, 2])).toEqual([1, 5, 2]);
  for (const ids of [[10], [-1], [0.5]]) expect(tokenizer.wrap(ids)).toBeNull();
});

test('ids that begin with the only special token are wrapped already', async () => {
  const tokenizer = await open({ ...sound, load: async () => ({ ...FACTS, after: [] }) });
  expect(tokenizer.wrap([5])).toEqual([1, 5]);
  expect(tokenizer.wrap([1, 5])).toEqual([1, 5]);
});

test('a tokenizer that is not read in time, or cannot be used, is named', async () => {
  const late = /a\/tiny\/tokenizer\.json was not read within 20 s\. .*busy/;
  await fails(open({ ...sound, load: never }), 'engine_failed', late);
  const fault = { file: 'tokenizer_config.json', fault: 'is not a JSON object' };
  const refused = open({ ...sound, load: async () => fault });
  await fails(refused, 'weights_corrupt', /a\/tiny\/tokenizer_config\.json is not a JSON object/);
});

test('a large tokenizer and a long text have time in proportion', async () => {
  const slowly =
    <T>(ms: number, value: T) =>
    () =>
      sleep(ms).then(() => value);
  const file = new Blob([new Uint8Array(12_000_000)]);
  next = [{ load: slowly(90_000, FACTS), tokenize: slowly(60_000, [[1]]) }];
  const tokenizer = await openTokenizer(variant, {
    ...context,
    file: async (path) => (path.endsWith('/tokenizer.json') ? file : new Blob(['{}'])),
  });
  expect(await tokenizer.tokenize(['x'.repeat(260_000)])).toEqual([[1]]);
});

test('a lack of memory is reported as such', async () => {
  const fault = { file: 'tokenizer.json', fault: 'is no tokenizer', cause: 'Array buffer allocation failed' };
  await fails(open({ ...sound, load: async () => fault }), 'out_of_memory');
  const cause = 'Invalid regular expression: /(?:a{1,9999}){1,9999}/: Regular expression too large';
  await fails(open({ ...sound, load: async () => ({ ...fault, cause }) }), 'weights_corrupt');
});

test('a text that takes longer than 10 s fails, and the next is tokenized by another worker', async () => {
  const tokenizer = await open({ ...sound, tokenize: never });
  await fails(tokenizer.tokenize(['a']), 'engine_failed', /longer than 10 s for a text\. .*busy/);
  expect(await tokenizer.tokenize(['ab'])).toEqual([[1, 2, 2]]);
  expect(opened).toHaveLength(2);
});

test('a worker that has ended before is replaced for the same text, one that ends with it twice is not', async () => {
  const tokenizer = await open();
  opened[0]?.end(engineCrashed('no memory'));
  expect(await tokenizer.tokenize(['a'])).toEqual([[1, 1, 2]]);

  const ending = (at: number): FakeTokenizer => ({
    ...sound,
    tokenize: () => {
      opened[at]?.end(engineCrashed('no memory'));
      return never();
    },
  });
  const hostile = await open(ending(0), ending(1));
  await fails(hostile.tokenize(['a']), 'engine_failed', /failed on a text/);
  expect(opened).toHaveLength(2);
});

test('what throws on a text fails that text; an end of the model fails all as a crash', async () => {
  const throws = async (): Promise<never> => {
    throw new RangeError('Invalid string length');
  };
  const tokenizer = await open({ ...sound, tokenize: throws }, { ...sound, tokenize: never });
  await expect(tokenizer.tokenize(['a'])).rejects.toMatchObject({ code: 'engine_failed' });
  const waiting = tokenizer.tokenize(['a']);
  tokenizer.end();
  await expect(waiting).rejects.toMatchObject({ code: 'engine_crashed' });
});
