import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { merged, type Conversation, type Turn } from './conversation.ts';

interface Schema extends DBSchema {
  conversations: { key: string; value: Conversation; indexes: { updatedAt: number } };
}

export interface ConversationHead {
  id: string;
  title: string;
  updatedAt: number;
}

/** The playground's own database, separate from the library's: clearing one leaves the other. */
let database: Promise<IDBPDatabase<Schema>> | null = null;

export class DeletedError extends Error {}

/** Ids that this page has read or written: one that is missing later was deleted, in this tab or another. */
const known = new Set<string>();

/** Opened again after the browser has refused or closed it: the user may clear or allow site data meanwhile. */
function db(): Promise<IDBPDatabase<Schema>> {
  if (database) return database;
  const forget = (): void => {
    database = null;
  };
  database = openDB<Schema>('localtext-playground', 1, {
    upgrade(upgraded) {
      upgraded.createObjectStore('conversations', { keyPath: 'id' }).createIndex('updatedAt', 'updatedAt');
    },
    terminated: forget,
  });
  database.catch(forget);
  return database;
}

/**
 * Adds a conversation to what is stored of it: another tab, or an earlier export, may have other turns. Where both differ, the
 * later state counts, except for `turn`, the only one that the caller has changed.
 * @returns what is stored now
 */
export async function saveConversation(conversation: Conversation, turn?: Turn): Promise<Conversation> {
  const [opened, schema] = await Promise.all([db(), loadSchema()]);
  const { store, done } = opened.transaction('conversations', 'readwrite');
  const found: unknown = await store.get(conversation.id);
  if (found === undefined && known.has(conversation.id)) throw new DeletedError('it was deleted.');
  const stored = schema.safeParse(found).data;
  const whole = stored ? merged(stored, conversation) : conversation;
  const turns = turn ? { ...whole.turns, ...stored?.turns, [turn.id]: turn } : whole.turns;
  const { data } = schema.safeParse({ ...whole, turns });
  // A larger conversation could be stored, but not opened again.
  if (!data) throw new Error('it has become too large. Begin another one.');
  await Promise.all([store.put(data), done]);
  known.add(data.id);
  return data;
}

/** @throws if the stored value is no conversation, as other code can write to the storage */
export async function readConversation(id: string): Promise<Conversation | undefined> {
  // The same steps as in saveConversation(), so that a save that was begun before is read.
  const [opened, schema] = await Promise.all([db(), loadSchema()]);
  const stored: unknown = await opened.get('conversations', id);
  const { data } = schema.safeParse(stored);
  if (stored !== undefined && !data) throw new Error('its stored record is damaged, or too large.');
  if (data) known.add(id);
  return data;
}

/** Adds a conversation from a file, even if it was deleted before. */
export async function restoreConversation(conversation: Conversation): Promise<Conversation> {
  known.delete(conversation.id);
  return await saveConversation(conversation);
}

export async function deleteConversation(id: string): Promise<void> {
  await (await db()).delete('conversations', id);
}

/** Newest first. `damaged` counts invalid records. */
export async function allConversations(): Promise<{ conversations: Conversation[]; damaged: number }> {
  const [all, schema] = await Promise.all([
    (await db()).getAllFromIndex('conversations', 'updatedAt'),
    loadSchema(),
  ]);
  const conversations = all.toReversed().flatMap((stored) => schema.safeParse(stored).data ?? []);
  return { conversations, damaged: all.length - conversations.length };
}

/** Heads of all conversations, for the list. */
export async function conversationHeads(): Promise<ConversationHead[]> {
  const all = await (await db()).getAllFromIndex('conversations', 'updatedAt');
  return all
    .toReversed()
    .filter(({ id, title, updatedAt }) => isText(id) && isText(title) && isTime(updatedAt))
    .map(({ id, title, updatedAt }) => ({ id, title: title.slice(0, 200), updatedAt }));
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTime = (value: unknown): boolean => typeof value === 'number' && Math.abs(value) <= 8.64e15;

/** Separate from the code of the first paint. */
const loadSchema = async () => (await import('./conversation-schema.ts')).conversationSchema;
