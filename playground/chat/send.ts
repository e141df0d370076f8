import { signal } from '@preact/signals';
import { announce } from '../announce.ts';
import { isOfLoad, loadFor } from '../client/downloads.ts';
import { handle } from '../client/localtext.ts';
import { isTouch } from '../media.ts';
import { randomId } from '../random-id.ts';
import { replaceRoute } from '../router.ts';
import { type ChatSettings, requestBody, SettingsError } from './chat-settings.ts';
import { conversation, keepTurn, putTurn, removeConversation, settings, turns } from './chat-state.ts';
import { readConversation } from './conversation-store.ts';
import type { Picture } from '../pictures/picture.ts';
import {
  isEmpty,
  LIMITS,
  toMessages,
  type AssistantTurn,
  type Conversation,
  type Turn,
} from './conversation.ts';
import { noteReply } from './first-reply.ts';
import { continued, emptyReply, type Reply } from './reply.ts';
import { streamReplies } from './stream-replies.ts';
import { count } from '../format.ts';
import { read, write } from '../preferences.ts';
import { firstLine, problemOf } from '../problem.ts';

/** The turns being written, if any, and how to stop them. The turns of a reply that is continued are there already. */
export const writing = signal<{ conversationId: string; turnIds: string[]; stop: () => void } | null>(null);
/** Pause between two saves of a reply that is being written. */
const KEEP_MS = 2000;
/** Stored id of a conversation with a question that was sent before the page had started. */
const ASKED_EARLY = 'localtext-playground:asked-early';
/** Problem of a reply that is stored before its end: what a reload shows. */
const LEFT = 'The page was reloaded or closed before the reply was complete.';

export const sendProblem = signal<string | null>(null);

/** Sends a user message, after the last turn shown or as another version of an earlier turn. */
export async function say(
  content: string,
  pictures: Picture[] = [],
  parent: string | null = turns.value.at(-1)?.id ?? null,
): Promise<boolean> {
  if (isTooLong([content])) return false;
  const turn: Turn = {
    ...newTurn(parent),
    role: 'user',
    content,
    ...(pictures.length > 0 && { pictures }),
  };
  return await ask({ prepare: (target) => putTurn(target, turn, { save: true, show: true }) });
}

/** Answers each tool call of the last turn, then continues the reply. */
export async function answerTools(
  results: { toolCallId: string; name: string; content: string }[],
): Promise<boolean> {
  if (isTooLong(results.map(({ content }) => content))) return false;
  const prepare = (target: Conversation): Conversation => {
    let parent = turns.value.at(-1)?.id ?? null;
    let next = target;
    for (const result of results) {
      const turn: Turn = { ...newTurn(parent), role: 'tool', ...result };
      next = putTurn(next, turn, { save: true, show: true });
      parent = turn.id;
    }
    return next;
  };
  return await ask({ prepare });
}

/** Reports a text that could not be stored. */
function isTooLong(texts: string[]): boolean {
  const longest = Math.max(...texts.map(({ length }) => length));
  if (longest <= LIMITS.chars) return false;
  sendProblem.value = `The message has ${count(longest)} characters. Shorten it to ${count(LIMITS.chars)}.`;
  return true;
}

/** Deletes a conversation, and stops the reply that is written in it. @returns what was stored, unless it is damaged */
export async function remove(id: string): Promise<Conversation | undefined> {
  if (writing.value?.conversationId === id) writing.value.stop();
  const stored = await readConversation(id).catch(() => undefined);
  await removeConversation(id);
  return stored;
}

/** Requests another reply to the same message: as a sibling of this one, or in its place if it is empty. */
export async function retry(turn: AssistantTurn): Promise<void> {
  await ask({ parentId: turn.parent, ...(isEmpty(turn) && { replacedId: turn.id }) });
}

/** Answers the question shown if `start()` has reloaded the page since it was sent, as on a first visit. */
export async function answerEarly(): Promise<void> {
  const isAsked = turns.value.at(-1)?.role === 'user' && read(ASKED_EARLY) === conversation.value.id;
  if (isAsked) await ask({});
}

/** Continues a reply that was cut or stopped, in its own turn. */
export async function continueReply(turn: AssistantTurn): Promise<void> {
  await ask({ parentId: turn.parent, beginning: turn });
}

interface Asked {
  /** Adds the turns that ask. */
  prepare?: (target: Conversation) => Conversation;
  /** Turn that is answered; absent: the last one that is shown. */
  parentId?: string | null;
  /** Reply that is continued. */
  beginning?: AssistantTurn;
  /** Empty reply in whose place the next one comes. */
  replacedId?: string;
}

/** Requests replies, and shows and stores them as they grow. @returns false if nothing was asked */
async function ask({ prepare, parentId, beginning, replacedId }: Asked): Promise<boolean> {
  if (writing.value) return false;
  const used = settingsFor(beginning);
  // Check the settings first, so that an error leaves the conversation unchanged.
  sendProblem.value = faultOf(used);
  if (sendProblem.value !== null) return false;
  let target = prepare?.(conversation.value) ?? conversation.value;
  // A reload reopens this conversation.
  replaceRoute('chat', target.id);
  const shown = turns.value;
  const end = parentId === undefined ? shown.length : shown.findIndex(({ id }) => id === parentId) + 1;
  const asked = shown.slice(0, end);
  const parent = asked.at(-1)?.id ?? null;
  const blank = beginning ? [beginning] : blankTurns(parent, used, replacedId);
  for (const turn of blank.toReversed()) target = putTurn(target, turn, { save: false, show: true });

  const controller = new AbortController();
  writing.value = {
    conversationId: target.id,
    turnIds: blank.map(({ id }) => id),
    stop: () => controller.abort(),
  };
  let latest: Reply[] = [];
  let kept: Reply[] | null = null;
  const keep = (): void => {
    if (kept === latest) return;
    kept = latest;
    for (const [index, turn] of blank.entries())
      keepTurn(target, { ...turn, ...latest[index], problem: LEFT });
  };
  const stopKeeping = keepOn(keep, target.id);
  let problem: string | null = null;
  // Shows the progress of a download that the request itself would only wait for.
  void loadFor(used.model, writing.value.stop);
  try {
    const body = await bodyOf(used, asked, beginning);
    const requestId = await streamReplies(body, controller.signal, (replies) => {
      announceFirstToken(latest, replies);
      latest = replies.map((reply) => continued(beginning, reply));
      for (const [index, turn] of blank.entries()) {
        target = putTurn(target, { ...turn, problem: null, ...latest[index] }, { save: false, show: false });
      }
    });
    noteReply(blank[0], latest[0], requestId);
  } catch (error) {
    problem = controller.signal.aborted ? 'stopped' : problemOf(error);
  } finally {
    stopKeeping();
    writing.value = null;
    for (const [index, turn] of blank.entries()) {
      target = putTurn(target, { ...turn, ...latest[index], problem }, { save: true, show: false });
    }
  }
  // The load card is an alert.
  if (problem === null || !isOfLoad(used.model, problem)) announceReply(latest[0], beginning, problem);
  return true;
}

function faultOf(used: ChatSettings): string | null {
  try {
    requestBody(used, []);
    return null;
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

/** Calls `keep` at intervals once the page has started. @returns what ends that */
function keepOn(keep: () => void, conversationId: string): () => void {
  let timer: ReturnType<typeof setInterval> | undefined;
  let hasEnded = false;
  const begin = (): void => {
    if (hasEnded) return;
    keep();
    timer = setInterval(keep, KEEP_MS);
  };
  write(ASKED_EARLY, conversationId);
  void handle.then(begin, () => undefined).then(() => write(ASKED_EARLY, null));
  return () => {
    hasEnded = true;
    clearInterval(timer);
  };
}

/** A reply is continued by its own model. */
const settingsFor = (beginning: AssistantTurn | undefined): ChatSettings =>
  beginning ? { ...settings.value, model: beginning.model, choices: 1 } : settings.value;

function announceFirstToken(before: Reply[], now: Reply[]): void {
  const hasBegun = ({ stats }: Reply): boolean => stats.firstTokenMs !== null;
  if (!before.some(hasBegun) && now.some(hasBegun))
    announce(isTouch.value ? 'Writing.' : 'Writing. Escape stops it.');
}

/** Reads the new part of the reply to a screen reader. */
function announceReply(
  reply: Reply | undefined,
  beginning: AssistantTurn | undefined,
  problem: string | null,
): void {
  const text = reply?.content.slice(beginning?.content.length) ?? '';
  announce(problem === null ? `Reply: ${text}` : `The reply ended early: ${firstLine(problem)}`);
}

async function bodyOf(used: ChatSettings, asked: Turn[], beginning: AssistantTurn | undefined) {
  if (!beginning) return requestBody(used, await toMessages(asked));
  const body = requestBody(used, await toMessages([...asked, beginning]));
  return { ...body, continue_final_message: true };
}

function newTurn(parent: string | null): { id: string; parent: string | null; createdAt: number } {
  return { id: randomId(), parent, createdAt: Date.now() };
}

const blankTurns = (
  parent: string | null,
  { choices, model }: ChatSettings,
  replacedId?: string,
): AssistantTurn[] =>
  Array.from({ length: choices }, (_, index) => {
    const { id, createdAt } = newTurn(parent);
    return {
      ...emptyReply(),
      id: (index === 0 && replacedId) || id,
      parent,
      createdAt: createdAt + index,
      role: 'assistant',
      model,
      problem: null,
    };
  });
