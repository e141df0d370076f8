import { expect, test } from 'vitest';

import { conversationSchema } from '../../../playground/chat/conversation-schema.ts';
import { cpuTime } from '../../support/cpu-time.ts';

const user = (id: string, parent: string | null): object => ({
  id,
  parent,
  createdAt: 1,
  content: 'hello',
  role: 'user',
});

const conversation = (turns: object, chosen: object): object => ({
  id: 'c1',
  title: 'A chat',
  createdAt: 1,
  updatedAt: 1,
  turns,
  chosen,
});

test('a tree of turns is taken, and unknown fields are dropped', () => {
  const turns = { a: user('a', null), b: { ...user('b', 'a'), extra: '<script>' }, c: user('c', 'a') };
  const { data } = conversationSchema.safeParse({
    ...conversation(turns, { '': 'a', a: 'c' }),
    onload: 'alert(1)',
  });
  expect(data?.chosen).toEqual({ '': 'a', a: 'c' });
  expect(data).not.toHaveProperty('onload');
  expect(data?.turns['b']).not.toHaveProperty('extra');
});

test.each([
  ['a turn chosen as its own answer', { a: user('a', null) }, { '': 'a', a: 'a' }, 'chosen'],
  ['a turn that is its own parent', { a: user('a', 'a') }, { '': 'a' }, 'turns'],
  ['two turns that are each other’s parents', { a: user('a', 'b'), b: user('b', 'a') }, {}, 'turns'],
  ['a parent that is missing', { a: user('a', 'z') }, {}, 'turns'],
  ['a turn under another id', { a: user('b', null) }, {}, 'turns'],
  ['a chosen turn that is missing', { a: user('a', null) }, { '': 'z' }, 'chosen'],
  ['an id that objects have', { a: user('a', null) }, { '': 'constructor' }, 'chosen'],
  ['a text of 2 MB', { a: { ...user('a', null), content: 'x'.repeat(2_000_000) } }, {}, 'turns'],
  ['a time that no date holds', { a: { ...user('a', null), createdAt: 1e300 } }, {}, 'turns'],
])('%s is refused by name', (_name, turns, chosen, field) => {
  const { error } = conversationSchema.safeParse(conversation(turns, chosen));
  expect(error?.issues[0]?.path[0]).toBe(field);
});

test('`__proto__` from JSON changes no prototype', () => {
  const text = JSON.stringify(conversation({ a: user('a', null) }, { '': 'a' }));
  const hostile = JSON.parse(text.replace('"chosen":{', '"chosen":{"__proto__":"a",')) as unknown;
  const { data } = conversationSchema.safeParse(hostile);
  expect(data?.chosen).toEqual({ '': 'a' });
  expect(Object.getPrototypeOf(data?.chosen)).toBe(Object.prototype);
});

test('more turns than the page shows are refused quickly', async () => {
  const turns = Object.fromEntries(
    Array.from({ length: 5000 }, (_, at) => [`t${at}`, user(`t${at}`, at === 0 ? null : `t${at - 1}`)]),
  );
  const ms = await cpuTime(() => {
    expect(conversationSchema.safeParse(conversation(turns, {})).success).toBe(false);
  });
  expect(ms).toBeLessThan(2000);
});
