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

/** The playground's own database, apart from the library's: clearing one leaves the other. */
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

export async function readConversation(id: string): Promise<Conversation | undefined> {
  return await (await db()).get('conversations', id);
}

export async function deleteConversation(id: string): Promise<void> {
  await (await db()).delete('conversations', id);
}

export async function allConversations(): Promise<Conversation[]> {
  const all = await (await db()).getAllFromIndex('conversations', 'updatedAt');
  return all.toReversed();
}
