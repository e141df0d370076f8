/** Texts that no template contains. */
const SYSTEM = 'localtext-system-probe';
const USER = 'localtext-user-probe';
const ASSISTANT = 'localtext-assistant-probe';
const LAST = 'localtext-last-probe';

interface Turn {
  role: string;
  content: string;
}

/** Renders a conversation. @throws what the template throws */
export type Render = (messages: readonly Turn[], addGenerationPrompt: boolean) => string;

/** What a chat template puts into a prompt by itself. Templates have no field for it: conversations are rendered to find it. */
export interface AddedText {
  /** Where it begins, in characters after the first token (`bos`). */
  at: number;
  /** Empty: nothing is added, or it cannot be distinguished. */
  text: string;
}

const system: Turn = { role: 'system', content: SYSTEM };
const user: Turn = { role: 'user', content: USER };
const assistant: Turn = { role: 'assistant', content: ASSISTANT };
const last: Turn = { role: 'user', content: LAST };

const NOTHING: AddedText = { at: 0, text: '' };

/** In front of a conversation without a system message: a default one, with its markers. */
export function findBeforeMessages(render: Render, bos: string): AddedText {
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
  const closing = beforeAssistant.slice(0, -opening.length);
  const userOpening = beforeLast.slice(closing.length);
  if (!beforeLast.startsWith(closing) || userOpening === '' || !beforeUser.endsWith(userOpening))
    return NOTHING;
  return { at: 0, text: beforeUser.slice(0, -userOpening.length) };
}

/** Between the opening of the caller's system message and its text: a date, the model's name. */
export function findAfterSystemOpening(render: Render, bos: string): AddedText {
  const first = attempt(() => render([system, user], true));
  const later = attempt(() => render([user, assistant, system, last], true));
  if (!first?.includes(SYSTEM) || !later?.includes(SYSTEM)) return NOTHING;
  const before = between(first, '', SYSTEM).slice(bos.length);
  // The longest end of it that also opens the first message: before it, the assistant's message is closed.
  const beforeLater = between(later, ASSISTANT, SYSTEM);
  for (let from = 0; from < beforeLater.length; from++) {
    const opening = beforeLater.slice(from);
    if (before.startsWith(opening)) return { at: opening.length, text: before.slice(opening.length) };
  }
  return NOTHING;
}

const between = (text: string, from: string, to: string): string =>
  text.slice(text.indexOf(from) + from.length, text.indexOf(to));

/** null: the template refuses the conversation. */
function attempt(render: () => string): string | null {
  try {
    return render();
  } catch {
    return null;
  }
}
