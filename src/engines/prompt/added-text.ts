import type { Reasoning } from '../../jobs/chat.ts';
import type { TemplateMessage } from './bounded-template.ts';
import { BoundError } from './template-texts.ts';

/** Characters that open a message. Real ones have less than 100; the search takes time with their square. */
const MAX_OPENING = 1000;

/** Texts that no template contains. */
const SYSTEM = 'localtext-system-probe';
const USER = 'localtext-user-probe';
const ASSISTANT = 'localtext-assistant-probe';
const LAST = 'localtext-last-probe';

type ProbeMessage = Pick<TemplateMessage, 'role' | 'content'>;

/** Variables about reasoning that a template gets. */
export interface Thinking {
  enableThinking: boolean;
  effort?: NonNullable<Reasoning['effort']>;
}

/** Renders a conversation. @throws what the template throws */
export type Render = (
  messages: readonly ProbeMessage[],
  addGenerationPrompt: boolean,
  thinking: Thinking,
) => string;

/**
 * Text that a chat template adds to a prompt. Templates have no field for it: conversations are rendered to find it.
 */
export interface AddedText {
  /** Position in characters after the first token (`bos`). */
  at: number;
  /** Empty: nothing is added, or it cannot be distinguished. */
  text: string;
}

const system: ProbeMessage = { role: 'system', content: SYSTEM };
const user: ProbeMessage = { role: 'user', content: USER };
const assistant: ProbeMessage = { role: 'assistant', content: ASSISTANT };
const last: ProbeMessage = { role: 'user', content: LAST };

const NOTHING: AddedText = { at: 0, text: '' };

/** Control tokens instead of words: `[gMASK]<sop>`, `<|start|>`. A model expects such a start, and it is kept. */
const CONTROL_TOKEN = /<[^<>\s]+>|\[[^[\]\s]+\]/y;

/** Text that changes with the fields of a request about thinking is the template's notation for them, and stays. */
export function findAddedText(
  render: Render,
  bos: string,
  hasSystem: boolean,
  thinking: Thinking,
): AddedText {
  const find = (told: Thinking): AddedText => {
    const renderTold = (turns: readonly ProbeMessage[], open: boolean) => render(turns, open, told);
    return hasSystem ? findAfterSystemOpening(renderTold, bos) : findBeforeMessages(renderTold, bos);
  };
  const added = find(thinking);
  if (added.text === '') return added;
  const others: Thinking[] = [
    { ...thinking, enableThinking: !thinking.enableThinking },
    { ...thinking, effort: thinking.effort === 'high' ? 'low' : 'high' },
  ];
  return others.every((other) => find(other).text === added.text) ? added : NOTHING;
}

type RenderTold = (messages: readonly ProbeMessage[], addGenerationPrompt: boolean) => string;

/** Finds the default system message, with its markers, before a conversation that has none. */
function findBeforeMessages(render: RenderTold, bos: string): AddedText {
  const text = attempt(() => render([user, assistant, last], true));
  const unopened = attempt(() => render([user, assistant, last], false));
  if (text === null || unopened === null) return NOTHING;
  const beforeUser = between(text, '', USER).slice(bos.length);
  const beforeLast = between(text, ASSISTANT, LAST);
  if (beforeLast.endsWith(beforeUser)) return NOTHING;
  // What stands before the assistant's opening ends the user's message; the rest before a user's message opens that.
  const opening = text.slice(unopened.length);
  const beforeAssistant = between(text, USER, ASSISTANT);
  if (opening === '' || !beforeAssistant.endsWith(opening)) return NOTHING;
  const closing = beforeAssistant.slice(0, -opening.length) || commonClosing(beforeAssistant, beforeLast);
  const userOpening = beforeLast.slice(closing.length);
  if (!beforeLast.startsWith(closing) || userOpening === '' || !beforeUser.endsWith(userOpening))
    return NOTHING;
  // Space between two messages goes with the first of them.
  const firstOpening = userOpening.trimStart();
  const added = beforeUser.slice(0, -firstOpening.length);
  const ends = controlTokenEnds(added);
  if (added.slice(ends.at(-1) ?? 0).trim() === '') return NOTHING;
  // A default message opens with as many tokens as a user's.
  const at = ends[ends.length - 1 - controlTokenEnds(firstOpening).length] ?? 0;
  const beginning = beforeUser.slice(0, at) + firstOpening;
  return beginsWithClosing(beginning, render, bos) ? NOTHING : { at, text: added.slice(at) };
}

/** End of a message, where a template ends the last one only before an assistant's opening. */
function commonClosing(beforeAssistant: string, beforeUser: string): string {
  let length = 0;
  while (length < beforeUser.length && beforeAssistant[length] === beforeUser[length]) length++;
  const common = beforeUser.slice(0, length);
  // Both openings may begin with the same token, or with the same characters of two.
  return common.slice(0, Math.max(0, common.lastIndexOf('<'), common.lastIndexOf('[')));
}

/** Whether a prompt begins with the token that ends a system message, which a prompt with one does not begin with. */
function beginsWithClosing(beginning: string, render: RenderTold, bos: string): boolean {
  const text = attempt(() => render([system, user], true));
  const [end = 0] = controlTokenEnds(beginning);
  const token = beginning.slice(0, end);
  if (!text?.includes(SYSTEM) || token === '') return false;
  const after = between(text, SYSTEM, USER).trimStart();
  return after.startsWith(token) && !text.startsWith(token, bos.length);
}

/** Finds the text between the opening of the caller's system message and its content: a date, the model's name. */
export function findAfterSystemOpening(render: RenderTold, bos: string): AddedText {
  const first = attempt(() => render([system, user], true));
  const later = attempt(() => render([user, assistant, system, last], true));
  if (!first?.includes(SYSTEM) || !later?.includes(SYSTEM)) return NOTHING;
  const before = between(first, '', SYSTEM).slice(bos.length);
  // The longest end of it that also opens the first message: before it, the assistant's message is closed.
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

/** Ends of the control tokens that a text begins with. */
function controlTokenEnds(text: string): number[] {
  const ends: number[] = [];
  CONTROL_TOKEN.lastIndex = 0;
  while (CONTROL_TOKEN.test(text)) ends.push(CONTROL_TOKEN.lastIndex);
  return ends;
}

const between = (text: string, from: string, to: string): string =>
  text.slice(text.indexOf(from) + from.length, text.indexOf(to));

/** Renders; null if the template refuses the conversation. @throws BoundError: a slow device says nothing about the template */
export function attempt(render: () => string): string | null {
  try {
    return render();
  } catch (error) {
    if (error instanceof BoundError) throw error;
    return null;
  }
}
