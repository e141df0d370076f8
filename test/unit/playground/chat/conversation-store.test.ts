// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { forceCloseDatabase } from 'fake-indexeddb';
import { openDB } from 'idb';
import { expect, test, vi } from 'vitest';

import {
  LIMITS,
  newConversation,
  shownTurns,
  withTurn,
  type Conversation,
  type Turn,
} from '../../../../playground/chat/conversation.ts';
import {
  allConversations,
  readConversation,
  saveConversation,
} from '../../../../playground/chat/conversation-store.ts';

const said = (id: string, parent: string | null, content = id): Turn => ({
  id,
  parent,
  createdAt: 1,
  role: 'user',
  content,
});

const at = (updatedAt: number, conversation: Conversation): Conversation => ({ ...conversation, updatedAt });

const stored = async (...turns: Turn[]): Promise<Conversation> =>
  saveConversation(turns.reduce((target, turn) => withTurn(target, turn), newConversation()));

const texts = async (id: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.values((await readConversation(id))?.turns ?? {}).map((turn) => [turn.id, turn.content]),
  );

test('turns that two tabs add to one conversation are all kept, and each sees its own branch', async () => {
  const opened = await stored(said('a', null));
  const one = withTurn(opened, said('b', 'a'));
  await saveConversation(one, one.turns['b']);
  const other = withTurn(opened, said('c', 'a'));
  await saveConversation(other, other.turns['c']);
  const last = withTurn(one, said('d', 'b'));
  await saveConversation(last, last.turns['d']);
  expect(Object.keys(await texts(opened.id)).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  const read = await readConversation(opened.id);
  expect(read && shownTurns(read).map(({ id }) => id)).toEqual(['a', 'b', 'd']);
});

test('a turn that another tab has changed is not put back', async () => {
  const opened = await stored(said('a', null, 'short'));
  const longer = withTurn(opened, said('a', null, 'short, and continued'));
  await saveConversation(longer, longer.turns['a']);
  const other = withTurn(opened, said('b', 'a'));
  await saveConversation(other, other.turns['b']);
  expect(await texts(opened.id)).toEqual({ a: 'short, and continued', b: 'b' });
});

test('an import of an earlier export loses no turn, and changes none', async () => {
  const exported = at(1, withTurn(withTurn(newConversation(), said('a', null, 'short')), said('b', 'a')));
  await saveConversation(exported);
  const continued = at(2, withTurn(exported, said('a', null, 'continued')));
  await saveConversation(continued);
  await saveConversation(at(3, withTurn(continued, said('c', 'b'))));
  await saveConversation(exported);
  expect(await texts(exported.id)).toEqual({ a: 'continued', b: 'b', c: 'c' });
});

test('saves that are begun at once are all kept', async () => {
  const opened = await stored(said('a', null));
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const next = withTurn(opened, said(`t${index}`, 'a'));
      return saveConversation(next, next.turns[`t${index}`]);
    }),
  );
  expect(Object.keys(await texts(opened.id))).toHaveLength(21);
});

test('what is stored and is no conversation is replaced', async () => {
  const conversation = withTurn(newConversation(), said('a', null));
  await saveConversation(conversation);
  const database = await openDB('localtext-playground');
  await database.put('conversations', { id: conversation.id, turns: 7, updatedAt: 1 });
  database.close();
  await saveConversation(conversation);
  expect(await texts(conversation.id)).toEqual({ a: 'a' });
});

test.each([
  ['a message', [said('b', 'a', 'x'.repeat(LIMITS.chars + 1))]],
  ['turns', Array.from({ length: LIMITS.turns }, (_, index) => said(`t${index}`, 'a'))],
])('what could not be read again is not stored: too large %s', async (_name, turns) => {
  const opened = await stored(said('a', null));
  const larger = turns.reduce((target, turn) => withTurn(target, turn), opened);
  await expect(saveConversation(larger)).rejects.toThrow('too large');
  expect(await texts(opened.id)).toEqual({ a: 'a' });
});

test('a record that is no conversation is told from one that is missing, and counted for an export', async () => {
  const database = await openDB('localtext-playground');
  await database.put('conversations', { id: 'damaged', turns: 7, updatedAt: 1 });
  database.close();
  await expect(readConversation('damaged')).rejects.toThrow('damaged, or too large');
  expect(await readConversation('missing')).toBeUndefined();
  const { id } = await stored(said('a', null));
  const all = await allConversations();
  expect(all.conversations.map((each) => each.id)).toContain(id);
  expect(all.damaged).toBe(1);
});

test('the database is opened again after the browser has closed it, and after it was refused', async () => {
  vi.resetModules();
  const store = await import('../../../../playground/chat/conversation-store.ts');
  const open = vi.spyOn(indexedDB, 'open');
  open.mockImplementationOnce(() => {
    throw new DOMException('refused', 'SecurityError');
  });
  await expect(store.conversationHeads()).rejects.toThrow('refused');
  const { id } = await store.saveConversation(withTurn(newConversation(), said('a', null)));
  const opened = open.mock.results.at(-1)?.value as { result: Parameters<typeof forceCloseDatabase>[0] };
  forceCloseDatabase(opened.result);
  await vi.waitFor(async () => expect(await store.readConversation(id)).toBeDefined());
  const later = withTurn(newConversation(), said('b', null));
  await store.saveConversation(later);
  expect((await store.conversationHeads()).map((head) => head.id)).toContain(later.id);
  open.mockRestore();
});
