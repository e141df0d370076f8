import { z } from 'zod/mini';
import { downloadFile } from '../download-file.ts';
import { plural } from '../format.ts';
import { bringConversation, refreshHistory } from './chat-state.ts';
import type { Conversation } from './conversation.ts';
import { allConversations } from './conversation-store.ts';

const FORMAT = 'localtext-conversations';

const turnBase = {
  id: z.string(),
  parent: z.nullable(z.string()),
  createdAt: z.number(),
  content: z.string(),
};
const logprob = z.object({ token: z.string(), logprob: z.number(), bytes: z.nullable(z.array(z.number())) });
const figure = z.nullable(z.number());
const turn = z.discriminatedUnion('role', [
  z.object({ ...turnBase, role: z.literal('user') }),
  z.object({ ...turnBase, role: z.literal('tool'), toolCallId: z.string(), name: z.string() }),
  z.object({
    ...turnBase,
    role: z.literal('assistant'),
    model: z.string(),
    problem: z.nullable(z.string()),
    finishReason: z.nullable(z.string()),
    toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })),
    logprobs: z.array(z.object({ ...logprob.shape, top_logprobs: z.array(logprob) })),
    stats: z.object({
      firstTokenMs: figure,
      totalMs: z.number(),
      promptTokens: figure,
      cachedTokens: figure,
      completionTokens: figure,
      tokensPerSecond: figure,
      fingerprint: z.nullable(z.string()),
    }),
  }),
]);
const file = z.object({
  format: z.literal(FORMAT),
  version: z.literal(1),
  conversations: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      createdAt: z.number(),
      updatedAt: z.number(),
      turns: z.record(z.string(), turn),
      chosen: z.record(z.string(), z.string()),
    }),
  ),
});

export async function exportConversations(): Promise<void> {
  const conversations = await allConversations();
  const text = JSON.stringify({ format: FORMAT, version: 1, conversations }, null, 2);
  downloadFile(`localtext-${new Date().toISOString().slice(0, 10)}.json`, text, 'application/json');
}

/** @returns what came of it, for people. One of the same id is replaced. */
export async function importConversations(source: File): Promise<string> {
  let conversations: Conversation[];
  try {
    conversations = file.parse(JSON.parse(await source.text())).conversations;
  } catch {
    return `${source.name} is not an export of this page. Nothing was imported.`;
  }
  for (const conversation of conversations) await bringConversation(conversation);
  await refreshHistory();
  return `Imported ${plural(conversations.length, 'conversation')}.`;
}
