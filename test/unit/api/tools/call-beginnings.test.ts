import { expect, test } from 'vitest';
import { CallBeginnings } from '../../../../src/api/tools/call-beginnings.ts';

const functions = [
  { name: 'weather', description: null, parameters: {}, param: '', strict: false },
  { name: 'sqrt', description: null, parameters: {}, param: '', strict: false },
];

function read(...deltas: string[]): { text: string; isCall: boolean } {
  const calls = new CallBeginnings({ functions });
  let text = '';
  for (const delta of deltas) {
    const cut = calls.push(delta);
    text += cut.text;
    if (cut.isCall) return { text, isCall: true };
  }
  return { text: text + calls.flush(), isCall: false };
}

test.each([
  ['So: [ {\n "name" :\t"weather"', 'So: '],
  ['So: ```json\n[\n{"name":"sqrt"', 'So: '],
  ['So: [[{"name": "weather"', 'So: ['],
  ['{ {"name": "weather"', '{ '],
])('%j is cut after %j, however it is split', (text, before) => {
  for (const size of [1, 2, 3, 5, 100])
    expect(read(...(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []))).toEqual({
      text: before,
      isCall: true,
    });
});

test.each([
  'The weather {is} fine.',
  'It is \\sqrt{2}, and sqrt(2) in code.',
  '{"name": "Ada", "arguments": 3}',
  '[weather] is a function; [{"name": "weathervane"',
  '```json\n{"name": "other"}\n```',
])('%j is text', (text) => {
  for (const size of [1, 3, 100])
    expect(read(...(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []))).toEqual({ text, isCall: false });
});

test('white space is withheld up to a bound', () => {
  const calls = new CallBeginnings({ functions });
  let sent = 0;
  for (let index = 0; index < 100; index++)
    sent += calls.push(index === 0 ? '[' : ' '.repeat(10)).text.length;
  expect(sent).toBeGreaterThan(700);
});
