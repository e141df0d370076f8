import { expect, test } from 'vitest';

import { conversationSchema } from '../../../../playground/chat/conversation-schema.ts';
import { toDataUrl } from '../../../../playground/pictures/data-url.ts';
import { stepsOf } from '../../../support/steps-of.ts';

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
  const steps = await stepsOf(() => {
    expect(conversationSchema.safeParse(conversation(turns, {})).success).toBe(false);
  });
  expect(steps).toBeLessThan(1e6);
});

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const withPictures = (...pictures: unknown[]): object =>
  conversation(
    { a: { ...user('a', null), pictures: pictures.map((blob) => ({ name: 'boat.png', blob })) } },
    { '': 'a' },
  );

test('pictures come as Blobs from the storage, and as `data:` URLs from files', async () => {
  const stored = new Blob([Uint8Array.of(1, 2)], { type: 'image/webp' });
  const { data } = conversationSchema.safeParse(withPictures(stored, PNG));
  const turn = data?.turns['a'];
  const [first, second] = turn?.role === 'user' ? (turn.pictures ?? []) : [];
  expect(first?.blob).toBe(stored);
  expect(second?.blob.type).toBe('image/png');
  expect(await toDataUrl(second?.blob ?? stored)).toBe(PNG);
});

test.each([
  ['a drawing that may have scripts', new Blob(['<svg/>'], { type: 'image/svg+xml' })],
  ['one of a file', 'data:image/svg+xml;base64,PHN2Zy8+'],
  ['a page', 'data:text/html;base64,PHN2Zy8+'],
  ['one that is not in base64', 'data:image/png,abc'],
  ['damaged base64', 'data:image/png;base64,a'],
  ['a URL', 'https://example.com/a.png'],
  ['a number', 7],
  ['a Blob of 2 MB', new Blob([new Uint8Array(2e6)], { type: 'image/png' })],
])('of pictures, %s is refused', (_name, blob) => {
  const { error } = conversationSchema.safeParse(withPictures(blob));
  expect(error?.issues[0]?.path.slice(0, 3)).toEqual(['turns', 'a', 'pictures']);
});

test('more pictures than a request may have are refused', () => {
  const sixteen = Array.from({ length: 16 }, () => PNG);
  expect(conversationSchema.safeParse(withPictures(...sixteen)).success).toBe(true);
  const { error } = conversationSchema.safeParse(withPictures(...sixteen, PNG));
  expect(error?.issues[0]?.message).toBe('too many pictures');
});
