import { Template } from '@huggingface/jinja';

import { requestError } from '../../errors/service-error.ts';
import type { ChatJob, ChatMessage, Reasoning } from '../../protocol/job.ts';
import { type AddedText, findAfterSystemOpening, findBeforeMessages, type Render } from './added-text.ts';
import { asksToThink, type ChatOpening, openReply } from './think-first.ts';
import { thinkTags, type ThinkTags } from './thought-splitter.ts';
import { withToolCalls } from './tool-call-text.ts';

/** Rounds of loops and calls of macros in one rendering. Templates take a few for each message; a step takes about 40 µs. */
const MAX_STEPS = 20_000;
const MAX_STEPS_A_MESSAGE = 20;
const MAX_RANGE = 10_000;

/** Names that no template can use. */
const STEP = 'a step';
const RANGE = 'a bounded range';

/** A text that no template contains. */
const PROBE = 'localtext-content-probe';
const toParts = (text: string) => [{ type: 'text', text }];

/** A chat template from a model's file. Its loops are bounded, so that none blocks the engine. */
export class BoundedTemplate {
  readonly #template: Template;
  /** It takes the contents of messages as arrays of parts alone. */
  readonly #takesParts: boolean;

  /** @throws Error when it is no template */
  constructor(source: string) {
    this.#template = new Template(source);
    bound(this.#template.parsed);
    this.#takesParts = /\bcontent\b/.test(source) && !this.#shows(PROBE) && this.#shows(toParts(PROBE));
  }

  #shows(content: unknown): boolean {
    try {
      const messages = [{ role: 'user', content }];
      return this.#render({ messages: messages as never, bos_token: '', eos_token: '' }).includes(PROBE);
    } catch {
      return false;
    }
  }

  /** @throws Error also when it does not come to an end */
  render(items: {
    messages: readonly (Pick<TemplateMessage, 'content'> & Partial<TemplateMessage>)[];
    [name: string]: unknown;
  }): string {
    if (!this.#takesParts) return this.#render(items);
    const messages = items.messages.map((message) => ({ ...message, content: toParts(message.content) }));
    return this.#render({ ...items, messages });
  }

  #render(items: { messages: readonly unknown[]; [name: string]: unknown }): string {
    const most = MAX_STEPS + MAX_STEPS_A_MESSAGE * items.messages.length;
    let steps = 0;
    const step = (): void => {
      steps++;
      if (steps > most) throw new Error(`it takes more than ${most} steps`);
    };
    return this.#template.render({ ...items, [RANGE]: boundedRange, [STEP]: step });
  }
}

interface Node {
  type?: unknown;
  value?: unknown;
  body?: unknown;
  property?: unknown;
  computed?: unknown;
}

/** Puts a call of the counter in front of the body of each loop and macro, and replaces its `range` by a bounded one. */
function bound(node: Node): void {
  for (const child of Object.values(node))
    if (typeof child === 'object' && child !== null) bound(child as Node);
  const { type, body, property } = node;
  if (type === 'Identifier' && node.value === 'range') node.value = RANGE;
  // A field of that name.
  if (type === 'MemberExpression' && !node.computed && (property as Node).value === RANGE)
    (property as Node).value = 'range';
  if ((type === 'For' || type === 'Macro') && Array.isArray(body))
    body.unshift({ type: 'CallExpression', callee: { type: 'Identifier', value: STEP }, args: [] });
}

function boundedRange(first: number, second?: number, by = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / by));
  if (!(length <= MAX_RANGE)) throw new Error(`its range() has more than ${MAX_RANGE} numbers`);
  return Array.from({ length }, (_, index) => start + index * by);
}

/** Why a model's template cannot be used, as a phrase that follows its name; undefined: it renders a plain message. */
export function templateFault(source: string | null): string | undefined {
  if (source === null) return undefined;
  try {
    new BoundedTemplate(source).render({
      messages: [{ role: 'user', content: 'Hello' }],
      add_generation_prompt: true,
      enable_thinking: false,
      bos_token: '',
      eos_token: '',
    });
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `has a chat template that cannot be used: ${why.slice(0, 200)}`;
  }
}

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

  /** Is one token wherever it stands; null: none is known. */
  get specialText(): string | null {
    return this.#tokens.eos;
  }

  get thinks(): boolean {
    return this.#tags !== null;
  }

  /**
   * @param marker stands for an image in the prompt
   * @throws ServiceError 400 when the model's template refuses the conversation
   */
  open(job: ChatJob, marker: string | null = null): ChatOpening {
    const { input, reasoning, resume } = job;
    const prompt =
      'prompt' in input
        ? input.prompt
        : this.#withoutBos(this.#rendered(input.messages.map(withMarkers(marker)), reasoning));
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
      throw requestError(
        400,
        `This model's chat template does not take these messages: ${why}`,
        null,
        'messages',
      );
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

/** Puts a marker into the place of each image. */
const withMarkers =
  (marker: string | null) =>
  (message: ChatMessage): ChatMessage => {
    if (message.role !== 'user' || !message.images || marker === null) return message;
    const { images, content, ...others } = message;
    const texts = images.map(({ at }, index) => content.slice(images[index - 1]?.at ?? 0, at) + marker);
    return { ...others, content: texts.join('') + content.slice(images.at(-1)?.at ?? 0) };
  };

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
