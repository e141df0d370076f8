import { computed, effect, signal } from '@preact/signals';
import { FIRST_CHAT_MODEL, modelIds } from '../client/models.ts';
import { preference } from '../preferences.ts';
import { replaceRoute, route } from '../router.ts';
import { DEFAULT_SETTINGS, type ChatSettings } from './chat-settings.ts';
import {
  isShownAgain,
  merged,
  newConversation,
  shownTurns,
  showing,
  withTurn,
  type Conversation,
  type Turn,
} from './conversation.ts';
import {
  conversationHeads,
  DeletedError,
  deleteConversation,
  readConversation,
  restoreConversation,
  saveConversation,
  type ConversationHead,
} from './conversation-store.ts';
import { messageOf } from '../format.ts';

export const settings = preference<ChatSettings>('chat-settings', DEFAULT_SETTINGS);
// A model that was removed or renamed cannot answer the next message.
effect(() => {
  if (modelIds.value.length === 0 || modelIds.value.includes(settings.value.model)) return;
  settings.value = { ...settings.value, model: FIRST_CHAT_MODEL };
});
export const conversation = signal<Conversation>(newConversation());
export const turns = computed(() => shownTurns(conversation.value));
/** Null until read, which takes long for many conversations: only their list reads them. */
export const history = signal<ConversationHead[] | null>(null);
/** Why a conversation could not be stored or opened. */
export const storageProblem = signal<string | null>(null);

export async function refreshHistory(): Promise<void> {
  try {
    history.value = await conversationHeads();
  } catch (error) {
    storageProblem.value = `The stored conversations cannot be read: ${messageOf(error)}`;
  }
}

export function startConversation(): void {
  if (Object.keys(conversation.value.turns).length > 0) conversation.value = newConversation();
}

/** Shows a conversation, unless the address has changed while it was read. @returns whether there is such a conversation. */
export async function openConversation(id: string): Promise<boolean> {
  storageProblem.value = null;
  if (conversation.value.id === id) return true;
  const found = await readConversation(id);
  if (found && route.peek().id === id) conversation.value = found;
  return found !== undefined;
}

/** Adds a turn to its conversation, even if another conversation has been opened since. */
export function putTurn(
  target: Conversation,
  turn: Turn,
  options: { save: boolean; show: boolean },
): Conversation {
  const base = conversation.value.id === target.id ? conversation.value : target;
  const next = withTurn(base, turn, options.show || isShownAgain(turn, target, base));
  if (conversation.value.id === target.id) conversation.value = next;
  if (options.save) void save(next, turn);
  return next;
}

/** Stores a turn for a reload, without updating the view. The final save reports failures. */
export function keepTurn(target: Conversation, turn: Turn): void {
  const base = conversation.value.id === target.id ? conversation.value : target;
  saveConversation(withTurn(base, turn, false), turn).catch(() => undefined);
}

export function showTurn(turn: Turn): void {
  conversation.value = showing(conversation.value, turn);
  void save(conversation.value);
}

/** Adds a stored conversation, or merges its turns into the one with the same id. */
export async function importConversation(imported: Conversation): Promise<void> {
  const whole = await restoreConversation(imported);
  if (conversation.value.id === whole.id) conversation.value = merged(whole, conversation.value);
}

export async function removeConversation(id: string): Promise<void> {
  await deleteConversation(id);
  if (conversation.value.id === id) {
    conversation.value = newConversation();
    replaceRoute('chat');
  }
  await refreshHistory();
}

async function save(next: Conversation, turn?: Turn): Promise<void> {
  try {
    await saveConversation(next, turn);
    storageProblem.value = null;
  } catch (error) {
    const isShown = conversation.value.id === next.id;
    if (error instanceof DeletedError && !isShown) return;
    const name = isShown ? 'This conversation' : `“${next.title}”`;
    storageProblem.value = `${name} could not be kept: ${messageOf(error)}`;
  }
}
