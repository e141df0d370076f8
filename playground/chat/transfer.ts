import { z } from 'zod/mini';
import { downloadBlob } from '../download-file.ts';
import { bytes, plural } from '../format.ts';
import { importConversation, refreshHistory } from './chat-state.ts';
import { conversationSchema } from './conversation-schema.ts';
import { LIMITS, picturesOf, type Conversation } from './conversation.ts';
import { allConversations } from './conversation-store.ts';
import { toDataUrl } from '../pictures/data-url.ts';

const FORMAT = 'localtext-conversations';
const HEAD = `{"format": "${FORMAT}", "version": 1, "conversations": [\n`;
const TAIL = '\n]}\n';

const fileSchema = z.object({
  format: z.literal(FORMAT),
  version: z.literal(1),
  conversations: z.array(conversationSchema).check(z.maxLength(LIMITS.conversations)),
});

/** Exports the newest conversations, up to a file's limit. @returns a message for the user */
export async function exportConversations(): Promise<string> {
  const { conversations: all, damaged } = await allConversations();
  const parts: Blob[] = [];
  let size = 0;
  for (const conversation of all.slice(0, LIMITS.conversations)) {
    const text = new Blob([parts.length > 0 ? ',\n' : '', await toJson(conversation)]);
    size += text.size;
    if (size > LIMITS.fileBytes - HEAD.length - TAIL.length) break;
    parts.push(text);
  }
  const file = new Blob([HEAD, ...parts, TAIL], { type: 'application/json' });
  downloadBlob(`localtext-${new Date().toISOString().slice(0, 10)}.json`, file);
  const done = `Exported ${plural(parts.length, 'conversation')}`;
  const omitted = damaged > 0 ? ` ${plural(damaged, 'stored record')} could not be read.` : '';
  if (parts.length === all.length) return `${done}.${omitted}`;
  return `${done} of ${all.length}, the newest: a file may have ${bytes(LIMITS.fileBytes)}.${omitted}`;
}

/** Serializes a conversation with its pictures as `data:` URLs. */
async function toJson(conversation: Conversation): Promise<string> {
  const turns = await Promise.all(
    Object.entries(conversation.turns).map(async ([id, turn]) => {
      const pictures = picturesOf(turn);
      if (pictures.length === 0) return [id, turn];
      const texts = pictures.map(async ({ name, blob }) => ({ name, blob: await toDataUrl(blob) }));
      return [id, { ...turn, pictures: await Promise.all(texts) }];
    }),
  );
  return JSON.stringify({ ...conversation, turns: Object.fromEntries(turns) as unknown }, null, 2);
}

/** @returns a message for the user. Turns are merged into a conversation with the same id. */
export async function importConversations(source: File): Promise<string> {
  const read = await readExport(source);
  if ('problem' in read) return `${source.name} cannot be imported: ${read.problem} Nothing was imported.`;
  for (const conversation of read.conversations) await importConversation(conversation);
  await refreshHistory();
  return `Imported ${plural(read.conversations.length, 'conversation')}.`;
}

const TOO_LARGE = 'a picture in it is damaged, or larger than this page keeps them.';

async function hasLargePicture(conversations: readonly Conversation[]): Promise<boolean> {
  const { isSmall } = await import('../pictures/to-picture.ts');
  for (const { turns } of conversations)
    for (const picture of Object.values(turns).flatMap(picturesOf))
      if (!(await isSmall(picture))) return true;
  return false;
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
  if (data) return (await hasLargePicture(data.conversations)) ? { problem: TOO_LARGE } : data;
  const [issue] = error.issues;
  if (!issue || issue.path[0] !== 'conversations') return { problem: 'it is not an export of this page.' };
  return { problem: `${issue.path.join('.')}: ${issue.message}.` };
}
