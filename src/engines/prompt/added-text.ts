import type { Reasoning } from '../../jobs/chat.ts';
import type { TemplateMessage } from './bounded-template.ts';
import { BoundError } from './template-texts.ts';

/** Maximum length of the text that opens a message. Real ones have less than 100; the search time grows with its square. */
const MAX_OPENING = 1000;

/** Probe texts, which no template contains. */
const SYSTEM = 'localtext-system-probe';
const USER = 'localtext-user-probe';
const ASSISTANT = 'localtext-assistant-probe';
const LAST = 'localtext-last-probe';

type ProbeMessage = Pick<TemplateMessage, 'role' | 'content'>;

/** Variables about reasoning that are passed to a template. */
export interface Thinking {
  enableThinking: boolean;
  effort?: NonNullable<Reasoning['effort']>;
}

/** Renders a conversation. @throws the template's error */
export type Render = (
  messages: readonly ProbeMessage[],
  addGenerationPrompt: boolean,
  thinking: Thinking,
) => string;

/** Text that a chat template adds to a prompt. Templates do not declare it; rendering probe conversations finds it. */
export interface AddedText {
  /** Position in characters after the first token (`bos`). */
  at: number;
  /** Empty if nothing is added, or if the addition cannot be distinguished. */
  text: string;
}

const system: ProbeMessage = { role: 'system', content: SYSTEM };
const user: ProbeMessage = { role: 'user', content: USER };
const assistant: ProbeMessage = { role: 'assistant', content: ASSISTANT };
const last: ProbeMessage = { role: 'user', content: LAST };

const NOTHING: AddedText = { at: 0, text: '' };

/** Matches a control token: `[gMASK]`, `<sop>`, `<|start|>`. Models expect a start of such tokens, so it is kept. */
const CONTROL_TOKEN = /<[^<>\s]+>|\[[^[\]\s]+\]/y;

/**
 * Finds the added text. Text that depends on a request's reasoning fields is the
 * template's notation for them, and is kept.
 */
export function findAddedText(
  render: Render,
  bos: string,
  hasSystem: boolean,
  thinking: Thinking,
): AddedText {
  const find = (variables: Thinking): AddedText => {
    const renderTurns: RenderTurns = (turns, open) => render(turns, open, variables);
    return hasSystem ? findAfterSystemOpening(renderTurns, bos) : findBeforeMessages(renderTurns, bos);
  };
  const added = find(thinking);
  if (added.text === '') return added;
  const others: Thinking[] = [
    { ...thinking, enableThinking: !thinking.enableThinking },
    { ...thinking, effort: thinking.effort === 'high' ? 'low' : 'high' },
  ];
  return others.every((other) => find(other).text === added.text) ? added : NOTHING;
}

type RenderTurns = (messages: readonly ProbeMessage[], addGenerationPrompt: boolean) => string;

/** Finds the default system message, with its markers, in a conversation without a system message. */
function findBeforeMessages(render: RenderTurns, bos: string): AddedText {
  const text = attempt(() => render([user, assistant, last], true));
  const unopened = attempt(() => render([user, assistant, last], false));
  if (text === null || unopened === null) return NOTHING;
  const beforeUser = between(text, '', USER).slice(bos.length);
  const beforeLast = between(text, ASSISTANT, LAST);
  if (beforeLast.endsWith(beforeUser)) return NOTHING;
  // Text between a user's and an assistant's message is the user's closing and the assistant's opening. Without
  // that closing, the text before the next user message is that message's opening.
  const opening = text.slice(unopened.length);
  const beforeAssistant = between(text, USER, ASSISTANT);
  if (opening === '' || !beforeAssistant.endsWith(opening)) return NOTHING;
  const closing = beforeAssistant.slice(0, -opening.length) || commonClosing(beforeAssistant, beforeLast);
  const userOpening = beforeLast.slice(closing.length);
  if (!beforeLast.startsWith(closing) || userOpening === '' || !beforeUser.endsWith(userOpening))
    return NOTHING;
  // Space between two messages belongs to the first.
  const firstOpening = userOpening.trimStart();
  const added = beforeUser.slice(0, -firstOpening.length);
  const ends = controlTokenEnds(added);
  if (added.slice(ends.at(-1) ?? 0).trim() === '') return NOTHING;
  // A system message's opening has as many control tokens as a user's.
  const at = ends[ends.length - 1 - controlTokenEnds(firstOpening).length] ?? 0;
  const beginning = beforeUser.slice(0, at) + firstOpening;
  return beginsWithClosing(beginning, render, bos) ? NOTHING : { at, text: added.slice(at) };
}

/** Closing of a message, for templates that close the last message only before an assistant's opening. */
function commonClosing(beforeAssistant: string, beforeUser: string): string {
  let length = 0;
  while (length < beforeUser.length && beforeAssistant[length] === beforeUser[length]) length++;
  const common = beforeUser.slice(0, length);
  // Cut at a token: both openings may begin with the same token, or with the same characters of different tokens.
  return common.slice(0, Math.max(0, common.lastIndexOf('<'), common.lastIndexOf('[')));
}

/** Whether a prompt begins with the token that closes a system message, unlike a prompt that has a system message. */
function beginsWithClosing(beginning: string, render: RenderTurns, bos: string): boolean {
  const text = attempt(() => render([system, user], true));
  const [end = 0] = controlTokenEnds(beginning);
  const token = beginning.slice(0, end);
  if (!text?.includes(SYSTEM) || token === '') return false;
  const after = between(text, SYSTEM, USER).trimStart();
  return after.startsWith(token) && !text.startsWith(token, bos.length);
}

/** Finds text between the opening of the caller's system message and its content, such as a date or the model's name. */
export function findAfterSystemOpening(render: RenderTurns, bos: string): AddedText {
  const first = attempt(() => render([system, user], true));
  const later = attempt(() => render([user, assistant, system, last], true));
  if (!first?.includes(SYSTEM) || !later?.includes(SYSTEM)) return NOTHING;
  const before = between(first, '', SYSTEM).slice(bos.length);
  // The text before a later system message begins with the assistant's closing. Its longest suffix that
  // also opens the first message is the opening.
  const beforeLater = between(later, ASSISTANT, SYSTEM);
  const starts = [0, ...controlTokenEnds(before)];
  for (let from = Math.max(0, beforeLater.length - MAX_OPENING); from < beforeLater.length; from++) {
    const opening = beforeLater.slice(from);
    const start = starts.find((each) => before.startsWith(opening, each));
    if (start === undefined) continue;
    const at = start + opening.length;
    return { at, text: before.slice(at) };
  }
  return NOTHING;
}

/** End positions of the control tokens at a text's start. */
function controlTokenEnds(text: string): number[] {
  const ends: number[] = [];
  CONTROL_TOKEN.lastIndex = 0;
  while (CONTROL_TOKEN.test(text)) ends.push(CONTROL_TOKEN.lastIndex);
  return ends;
}

const between = (text: string, from: string, to: string): string =>
  text.slice(text.indexOf(from) + from.length, text.indexOf(to));

/** Renders; null if the template rejects the conversation. @throws BoundError: a slow device does not prove a rejection */
export function attempt(render: () => string): string | null {
  try {
    return render();
  } catch (error) {
    if (error instanceof BoundError) throw error;
    return null;
  }
}
