import type {
  ChatCompletionContentPart,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import { toDataUrl } from '../pictures/data-url.ts';
import type { Picture } from '../pictures/picture.ts';
import { randomId } from '../random-id.ts';
import type { Reply } from './reply.ts';

interface TurnBase {
  id: string;
  /** The turn that it answers; null for the first. */
  parent: string | null;
  /** Milliseconds since the epoch. */
  createdAt: number;
  content: string;
}

export interface UserTurn extends TurnBase {
  role: 'user';
  /** Pictures shown before the text; turns of earlier versions have none. */
  pictures?: Picture[] | undefined;
}

export interface ToolTurn extends TurnBase {
  role: 'tool';
  toolCallId: string;
  name: string;
}

export interface AssistantTurn extends TurnBase, Omit<Reply, 'content'> {
  role: 'assistant';
  model: string;
  /** Why it ended early, for the user; `stopped` if the user stopped it. */
  problem: string | null;
}

export type Turn = UserTurn | ToolTurn | AssistantTurn;

/** A tree of turns: an edit or a retry is a sibling, so that nothing said is lost. */
export interface Conversation {
  id: string;
  title: string;
  createdAt: number;
  updatedAt: number;
  turns: Record<string, Turn>;
  /** Id of the child that is shown, by parent (`''`: the first turn). */
  chosen: Record<string, string>;
}

/** Limits of a stored or imported conversation, and so of what this page writes. */
export const LIMITS = {
  fileBytes: 200_000_000,
  conversations: 1000,
  turns: 2000,
  chars: 1_000_000,
  tokens: 20_000,
  items: 128,
};

const key = (parent: string | null): string => parent ?? '';

export function newConversation(): Conversation {
  const now = Date.now();
  return {
    id: randomId(),
    title: 'New chat',
    createdAt: now,
    updatedAt: now,
    turns: {},
    chosen: {},
  };
}

/** The branch that is shown, from the first turn to the last. */
export function shownTurns({ turns, chosen }: Conversation): Turn[] {
  const path: Turn[] = [];
  let next = chosen[''];
  while (next !== undefined) {
    const turn = turns[next];
    if (!turn) break;
    path.push(turn);
    next = chosen[turn.id];
  }
  return path;
}

export function siblings({ turns }: Conversation, { parent }: Turn): Turn[] {
  return Object.values(turns)
    .filter((turn) => turn.parent === parent)
    .toSorted((a, b) => a.createdAt - b.createdAt);
}

/** Adds or replaces a turn; a new one is shown. */
export function withTurn(conversation: Conversation, turn: Turn, show = true): Conversation {
  const first = turn.parent === null && turn.role === 'user' && Object.keys(conversation.turns).length === 0;
  return {
    ...conversation,
    title: first ? titleOf(turn.content) : conversation.title,
    updatedAt: Date.now(),
    turns: { ...conversation.turns, [turn.id]: turn },
    chosen: show ? { ...conversation.chosen, [key(turn.parent)]: turn.id } : conversation.chosen,
  };
}

/** Whether a shown turn is missing after its conversation was reopened, because it is not stored yet. */
export const isShownAgain = (turn: Turn, before: Conversation, opened: Conversation): boolean =>
  !Object.hasOwn(opened.turns, turn.id) && before.chosen[key(turn.parent)] === turn.id;

export function showing(conversation: Conversation, turn: Turn): Conversation {
  return { ...conversation, chosen: { ...conversation.chosen, [key(turn.parent)]: turn.id } };
}

/** Merges all turns of two states of a conversation; the later state wins. */
export function merged(a: Conversation, b: Conversation): Conversation {
  const [earlier, later] = a.updatedAt > b.updatedAt ? [b, a] : [a, b];
  return {
    ...later,
    turns: { ...earlier.turns, ...later.turns },
    chosen: { ...earlier.chosen, ...later.chosen },
  };
}

function titleOf(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  return line.length > 60 ? `${line.slice(0, 59)}…` : line || 'Picture';
}

export const picturesOf = (turn: Turn): Picture[] => (turn.role === 'user' ? (turn.pictures ?? []) : []);

export const isEmpty = ({ content, toolCalls }: AssistantTurn): boolean =>
  content === '' && toolCalls.length === 0;

/** Whether a reply has a beginning that the model can continue. */
export const wasCut = ({ finishReason, problem, content, toolCalls }: AssistantTurn): boolean =>
  (finishReason === 'length' || problem !== null) && content !== '' && toolCalls.length === 0;

/** Converts turns to messages for /v1. Omits replies without text. */
export const toMessages = (turns: Turn[]): Promise<ChatCompletionMessageParam[]> =>
  Promise.all(turns.filter((turn) => turn.role !== 'assistant' || !isEmpty(turn)).map(toMessage));

async function toMessage(turn: Turn): Promise<ChatCompletionMessageParam> {
  if (turn.role === 'user') return { role: 'user', content: await userContent(turn) };
  if (turn.role === 'tool') return { role: 'tool', content: turn.content, tool_call_id: turn.toolCallId };
  if (turn.toolCalls.length === 0) return { role: 'assistant', content: turn.content };
  return {
    role: 'assistant',
    content: turn.content,
    tool_calls: turn.toolCalls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

async function userContent(turn: UserTurn): Promise<string | ChatCompletionContentPart[]> {
  const pictures = picturesOf(turn);
  if (pictures.length === 0) return turn.content;
  const urls = await Promise.all(pictures.map(({ blob }) => toDataUrl(blob)));
  return [
    ...urls.map((url) => ({ type: 'image_url' as const, image_url: { url } })),
    ...(turn.content === '' ? [] : [{ type: 'text' as const, text: turn.content }]),
  ];
}
