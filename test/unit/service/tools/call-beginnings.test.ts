import { expect, test } from 'vitest';
import { CallBeginnings } from '../../../../src/service/tools/call-beginnings.ts';

const functions = [
  { name: 'weather', description: null, parameters: {}, param: '', strict: false },
  { name: 'sqrt', description: null, parameters: {}, param: '', strict: false },
  { name: 'json', description: null, parameters: {}, param: '', strict: false },
];

function read(...deltas: string[]): { text: string; isCall: boolean } {
  const calls = new CallBeginnings({
    functions: functions.map((each) => ({ ...each, tool: { kind: 'function' as const, name: each.name } })),
  });
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
  ['\n{"arguments": {', '\n'],
  ['```json\n{"arguments": {', ''],
  [' [weather(', ' '],
  ['Let me look. [weather(', 'Let me look. '],
  ['Let me look.\n{"arguments": {', 'Let me look.\n'],
  ['weather{"', ''],
  ['weather\n{"', ''],
  ['確認します。[weather(', '確認します。'],
  ['好的：\n[weather(', '好的：\n'],
  ['我来查询。weather{"', '我来查询。'],
  ['Let me check… weather{"', 'Let me check… '],
  ['Let me check:\n[weather(', 'Let me check:\n'],
  ['"Done."\n[weather(', '"Done."\n'],
  ['**Call**\n[weather(', '**Call**\n'],
  ['Sure 👍 [weather(', 'Sure 👍 '],
  ['Here it is:\n{"arguments": {', 'Here it is:\n'],
  ['Let me look.weather{"', 'Let me look.'],
  ['So:\nweather{"', 'So:\n'],
  ['So: call:weather{', 'So: '],
  ['So: functions.weather:12', 'So: '],
  ['So: <function=weather>', 'So: '],
  ['Action: ```json\n[\n {\n "tool_name": "weather"', 'Action: ```json\n'],
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
  'A call is `{ "arguments": { "x": 1 } }` to a server.',
  "await Promise.all([weather('a'), weather('b')])",
  'roots = [sqrt(x) for x in numbers]',
  '```py\n[sqrt(x) for x in numbers]\n```',
  'roots: [sqrt(x) for x in numbers]',
  'So.\n```json\n{"arguments": {}}\n```',
  '```json{"a": 1}```',
  'Is it a geojson{"a": 1}, or weather {"a": 1}?',
  'I can call functions.weather: it tells the weather.',
  'recall:weather{}',
])('%j is text', (text) => {
  for (const size of [1, 3, 100])
    expect(read(...(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []))).toEqual({ text, isCall: false });
});

test('white space is withheld up to a bound', () => {
  const calls = new CallBeginnings({
    functions: functions.map((each) => ({ ...each, tool: { kind: 'function' as const, name: each.name } })),
  });
  let sent = 0;
  for (let index = 0; index < 100; index++)
    sent += calls.push(index === 0 ? '[' : ' '.repeat(10)).text.length;
  expect(sent).toBeGreaterThan(700);
});

test.each(['[', '{ ', '\nf', '[ {"name": "f'])('a reply of %j, with 128 functions, is read soon', (piece) => {
  const many = Array.from({ length: 128 }, (_, index) => {
    const name = `function_with_a_long_name_${index}`;
    return { name, description: null, parameters: {}, param: '', strict: false };
  });
  const calls = new CallBeginnings({
    functions: many.map((each) => ({ ...each, tool: { kind: 'function' as const, name: each.name } })),
  });
  const text = piece.repeat(600_000 / piece.length);
  expect(calls.push(text).text + calls.flush()).toBe(text);
});
