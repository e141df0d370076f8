import { expect, test } from 'vitest';

import { bytes, prettyJson, timeLeft } from '../../../playground/format.ts';
import { nameBreaks } from '../../../playground/client/name-breaks.ts';
import { firstLine, problemOf } from '../../../playground/problem.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [98_362_432, '98.4 MB'],
  [99_970_000, '100 MB'],
  [999_600_000, '1.0 GB'],
  [999_400_000, '999 MB'],
  [999_999_999_999, '1.0 TB'],
])('%d bytes are shown as %s', (count, text) => {
  expect(bytes(count)).toBe(text);
});

test.each([
  [0, '1 s left'],
  [654, '1 s left'],
  [9_100, '10 s left'],
  [59_500, '1 min left'],
  [185_000, '3 min 5 s left'],
])('%d ms are shown as %s', (ms, text) => {
  expect(timeLeft(ms)).toBe(text);
});

test('JSON is shown with the numbers and the order that it was written with', () => {
  const value = { text: 'a, [b]: "{"', list: [1, { a: null }], empty: {}, none: [], at: '\\' };
  expect(prettyJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  expect(prettyJson('{"b" :2512292042121000001, "1":1.0}')).toBe(
    '{\n  "b": 2512292042121000001,\n  "1": 1.0\n}',
  );
  expect(prettyJson('{"a": ')).toBe('{"a": ');
});

test('a failure is told in a visitor’s words, with the technical message on the next line', () => {
  const error = Object.assign(new Error('https://weights.test/model.gguf: the server answered 403 (CORS).'), {
    code: 'weights_unavailable',
  });
  const problem = problemOf(error);
  expect(firstLine(problem)).not.toMatch(/CORS|https:/);
  expect(problem).toBe(`${firstLine(problem)}\n${error.message}`);
});

test('a failure whose code says nothing to a visitor keeps its message', () => {
  const error = Object.assign(new Error('`top_k` must be at least 1.'), { code: 'invalid_value' });
  expect(problemOf(error)).toBe(error.message);
  expect(problemOf('stopped')).toBe('stopped');
});

test.each(['Error in input stream', 'network error', 'Load failed'])(
  '%s is told as a broken connection',
  async (said) => {
    const body = new ReadableStream({ start: (controller) => controller.error(new TypeError(said)) });
    const error: unknown = await nameBreaks(new Response(body))
      .text()
      .catch((thrown: unknown) => thrown);
    expect(problemOf(error)).toBe(`The connection broke. Try again.\n${said}`);
    // A fault of the program.
    expect(problemOf(new TypeError(said))).toBe(said);
  },
);
