import { z } from 'zod/mini';
import { downloadFile } from '../download-file.ts';
import { bytes, plural } from '../format.ts';
import { importConversation, refreshHistory } from './chat-state.ts';
import { conversationSchema, LIMITS } from './conversation-schema.ts';
import { allConversations } from './conversation-store.ts';

const FORMAT = 'localtext-conversations';

const fileSchema = z.object({
  format: z.literal(FORMAT),
  version: z.literal(1),
  conversations: z.array(conversationSchema).check(z.maxLength(LIMITS.conversations)),
});

export async function exportConversations(): Promise<void> {
  const conversations = await allConversations();
  const text = JSON.stringify({ format: FORMAT, version: 1, conversations }, null, 2);
  downloadFile(`localtext-${new Date().toISOString().slice(0, 10)}.json`, text, 'application/json');
}

/** @returns what came of it, for people. One of the same id is replaced. */
export async function importConversations(source: File): Promise<string> {
  const read = await readExport(source);
  if ('problem' in read) return `${source.name} cannot be imported: ${read.problem} Nothing was imported.`;
  for (const conversation of read.conversations) await importConversation(conversation);
  await refreshHistory();
  return `Imported ${plural(read.conversations.length, 'conversation')}.`;
}

async function readExport(
  source: File,
): Promise<{ conversations: z.infer<typeof conversationSchema>[] } | { problem: string }> {
  if (source.size > LIMITS.fileBytes)
    return { problem: `it has more than ${bytes(LIMITS.fileBytes)}. Export fewer conversations.` };
  let json: unknown;
  try {
    json = JSON.parse(await source.text());
  } catch {
    return { problem: 'it is not JSON. Choose a file that this page exported.' };
  }
  const { data, error } = fileSchema.safeParse(json);
  if (data) return data;
  const [issue] = error.issues;
  if (!issue || issue.path[0] !== 'conversations') return { problem: 'it is not an export of this page.' };
  return { problem: `${issue.path.join('.')}: ${issue.message}.` };
}
