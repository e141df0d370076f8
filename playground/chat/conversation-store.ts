import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { Conversation } from './conversation.ts';

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

function db(): Promise<IDBPDatabase<Schema>> {
  database ??= openDB<Schema>('localtext-playground', 1, {
    upgrade(upgraded) {
      upgraded.createObjectStore('conversations', { keyPath: 'id' }).createIndex('updatedAt', 'updatedAt');
    },
  });
  return database;
}

export async function saveConversation(conversation: Conversation): Promise<void> {
  await (await db()).put('conversations', conversation);
}

/** What is not a conversation is as good as not there: anything may write to the storage. */
export async function readConversation(id: string): Promise<Conversation | undefined> {
  const [stored, schema] = await Promise.all([(await db()).get('conversations', id), loadSchema()]);
  return schema.safeParse(stored).data;
}

export async function deleteConversation(id: string): Promise<void> {
  await (await db()).delete('conversations', id);
}

export async function allConversations(): Promise<Conversation[]> {
  const [all, schema] = await Promise.all([
    (await db()).getAllFromIndex('conversations', 'updatedAt'),
    loadSchema(),
  ]);
  return all.toReversed().flatMap((stored) => schema.safeParse(stored).data ?? []);
}

/** Heads of all conversations, for the list, which is read again after each turn. */
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
