import { badRequest } from '../../errors/engine-error.ts';
import type { ChatJob, ChatMessage, Reasoning, ToolCall } from '../../protocol/job.ts';
import { BoundedTemplate } from './prompt-bounds.ts';
import { asksToThink, type ChatOpening, openReply } from './think-first.ts';
import { thinkTags, type ThinkTags } from './thought-splitter.ts';

/** For models whose file names no template: the notation that most are trained on. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}";

/** Texts of the tokens by which a chat template begins and ends a conversation; null: the model has none. */
export interface SpecialTokens {
  bos: string | null;
  eos: string | null;
}

interface TemplateMessage {
  role: string;
  content: string;
  tool_call_id?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: unknown } }[];
}

/**
 * Renders conversations by the model's own template. Done here and not by llama.cpp, so that a new reply follows an
 * assistant's last message, as OpenAI has it, and a partial reply is continued to the letter.
 */
export class ChatPrompt {
  readonly #template: BoundedTemplate;
  readonly #tokens: SpecialTokens;
  /** llama.cpp puts the first token before every prompt by itself. */
  readonly #addsBos: boolean;
  readonly #knowsTools: boolean;
  readonly #tags: ThinkTags | null;
  /** Whether the template turns thinking on and off. */
  readonly #canSwitch: boolean;
  /** Whether text that the template adds by itself stays in the prompt. */
  readonly #keepsAddedText: boolean;
  /** What the template adds to a conversation with a system message, and to one without. */
  readonly #added = new Map<boolean, AddedText>();

  /** @param keepsAddedText for a model that answers badly without its template's own system message */
  constructor(source: string | null, tokens: SpecialTokens, addsBos: boolean, keepsAddedText = false) {
    this.#template = new BoundedTemplate(source ?? CHATML);
    this.#tokens = tokens;
    this.#addsBos = addsBos;
    this.#knowsTools = /tool_calls/.test(source ?? '');
    this.#tags = thinkTags(source ?? '');
    this.#canSwitch = /enable_thinking/.test(source ?? '');
    this.#keepsAddedText = keepsAddedText;
  }

  get thinks(): boolean {
    return this.#tags !== null;
  }

  /** @throws EngineError 400 when the model's template refuses the conversation */
  open(job: ChatJob): ChatOpening {
    const { input, reasoning, resume } = job;
    const prompt =
      'prompt' in input ? input.prompt : this.#withoutBos(this.#rendered(input.messages, reasoning));
    if (!this.#tags || 'prompt' in input) return { prompt: prompt + (resume?.text ?? ''), thinking: null };
    return openReply(prompt, this.#tags, job, this.#canSwitch && asksToThink(reasoning));
  }

  #rendered(messages: readonly ChatMessage[], reasoning?: Reasoning): string {
    const render: Render = (turns, addGenerationPrompt) =>
      this.#template.render({
        messages: turns,
        add_generation_prompt: addGenerationPrompt,
        enable_thinking: asksToThink(reasoning),
        ...(reasoning?.effort && { reasoning_effort: reasoning.effort }),
        bos_token: this.#tokens.bos ?? '',
        eos_token: this.#tokens.eos ?? '',
      });
    let prompt: string;
    try {
      prompt = render(
        messages.map((message) => (this.#knowsTools ? native(message) : plain(message))),
        true,
      );
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw badRequest(`This model's chat template does not take these messages: ${why}`, 'messages');
    }
    return this.#keepsAddedText
      ? prompt
      : this.#withoutAddedText(prompt, messages[0]?.role === 'system', render);
  }

  /** The caller's messages alone: a template's default system message changes the answers, and costs its tokens. */
  #withoutAddedText(prompt: string, hasSystem: boolean, render: Render): string {
    const { bos } = this.#tokens;
    const start = bos !== null && prompt.startsWith(bos) ? bos : '';
    const cut = ({ at, text }: AddedText): string | null => {
      const from = start.length + at;
      return prompt.startsWith(text, from) ? prompt.slice(0, from) + prompt.slice(from + text.length) : null;
    };
    const known = this.#added.get(hasSystem);
    const found = known && cut(known);
    if (found != null) return found;
    // The first prompt of its kind, or the text has changed, as a date does.
    const added = hasSystem ? findAfterSystemOpening(render, start) : findBeforeMessages(render, start);
    this.#added.set(hasSystem, added);
    return cut(added) ?? prompt;
  }

  #withoutBos(prompt: string): string {
    const { bos } = this.#tokens;
    return this.#addsBos && bos && prompt.startsWith(bos) ? prompt.slice(bos.length) : prompt;
  }
}

function native(message: ChatMessage): TemplateMessage {
  const { role, content } = message;
  if (message.role === 'tool') return { role, content, tool_call_id: message.toolCallId };
  if (message.role !== 'assistant' || !message.toolCalls) return { role, content };
  return {
    role,
    content,
    tool_calls: message.toolCalls.map(({ id, name, arguments: json }) => ({
      id,
      type: 'function',
      function: { name, arguments: parsed(json) },
    })),
  };
}

/**
 * Templates of small models know no tools and would leave calls and results out: both are put into the text.
 */
function plain(message: ChatMessage): TemplateMessage {
  if (message.role === 'tool') {
    return { role: 'user', content: `<tool_response>\n${message.content}\n</tool_response>` };
  }
  const { role, content } = message;
  if (message.role !== 'assistant' || !message.toolCalls) return { role, content };
  return { role, content: withToolCalls(content, message.toolCalls) };
}

/** Templates parse the arguments; what the model wrote wrong stays as it is. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

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
function findBeforeMessages(render: Render, bos: string): AddedText {
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
function findAfterSystemOpening(render: Render, bos: string): AddedText {
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

/** A message with the calls that were made, in the notation that most tool-calling models were trained on. */
export function withToolCalls(content: string, calls: readonly ToolCall[]): string {
  const written = calls.map(
    ({ name, arguments: json }) =>
      `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${json}}\n</tool_call>`,
  );
  return [content, ...written].filter((part) => part !== '').join('\n');
}
