import { Template } from '@huggingface/jinja';

import { requestError, type ServiceError } from '../../errors/service-error.ts';
import type { ChatJob, ChatMessage, Reasoning } from '../../protocol/job.ts';
import { type AddedText, findAddedText, type Render, type Thinking } from './added-text.ts';
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
const KEY = 'a key';

/** A text that no template contains. */
const PROBE = 'localtext-content-probe';
const toParts = (text: string) => [{ type: 'text', text }];

/** A template takes more than localtext lets it. */
class BoundError extends Error {}

/** A chat template from a model's file. Its loops are bounded, so that none blocks the engine. */
export class BoundedTemplate {
  readonly #template: Template;
  /** It takes the contents of messages as arrays of parts alone. */
  readonly #takesParts: boolean;

  /** @throws Error when it is no template */
  constructor(source: string) {
    this.#template = new Template(withoutCarriageReturns(source));
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

  /** A template may need lists that no request of localtext has, as Jinja treats an undefined list as an empty one. */
  #render(items: TemplateItems): string {
    try {
      return this.#renderOnce(items);
    } catch (error) {
      if (error instanceof BoundError) throw error;
      try {
        return this.#renderOnce({ tools: [], documents: [], ...items });
      } catch {
        throw error;
      }
    }
  }

  #renderOnce(items: TemplateItems): string {
    const most = MAX_STEPS + MAX_STEPS_A_MESSAGE * items.messages.length;
    let steps = 0;
    const step = (): void => {
      steps++;
      if (steps > most) throw new BoundError(`it takes more than ${most} steps`);
    };
    return this.#template.render({ ...items, [RANGE]: boundedRange, [STEP]: step, [KEY]: keyOf });
  }
}

interface TemplateItems {
  messages: readonly unknown[];
  [name: string]: unknown;
}

/** As Jinja reads a template: its line ends are `\n`. */
const withoutCarriageReturns = (source: string): string => source.replaceAll(/\r\n?/g, '\n');

interface Node {
  type?: unknown;
  value?: unknown;
  body?: unknown;
  object?: unknown;
  property?: unknown;
  computed?: unknown;
  iterable?: unknown;
  lhs?: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** Puts a call of the counter in front of the body of each loop and macro, and replaces its `range` by a bounded one. */
function bound(node: Node): void {
  for (const child of childrenOf(node)) bound(child);
  const { type, body, property } = node;
  if (type === 'Identifier' && node.value === 'range') node.value = RANGE;
  // A field of that name.
  if (type === 'MemberExpression' && !node.computed && (property as Node).value === RANGE)
    (property as Node).value = 'range';
  if ((type === 'For' || type === 'Macro') && Array.isArray(body))
    body.unshift({ type: 'CallExpression', callee: identifier(STEP), args: [] });
  allowUndefinedList(node);
  allowNumberKeys(node);
}

function childrenOf(node: Node): Node[] {
  const values = node.value instanceof Map ? [...node.value].flat() : [];
  return [...Object.values(node), ...values].filter(isNode);
}

const identifier = (value: string): Node => ({ type: 'Identifier', value });

/** A loop over nothing has no rounds, as in Jinja; the library throws. */
function allowUndefinedList(node: Node): void {
  const orEmpty = (left: unknown): object => ({
    type: 'BinaryExpression',
    operator: { type: 'BinaryOperator', value: 'or' },
    left,
    right: { type: 'ArrayLiteral', value: [] },
  });
  if (node.type === 'SelectExpression') node.lhs = orEmpty(node.lhs);
  else if (node.type === 'For' && isNode(node.iterable) && node.iterable.type !== 'SelectExpression')
    node.iterable = orEmpty(node.iterable);
}

/** The library knows keys of dictionaries that are strings. */
function allowNumberKeys(node: Node): void {
  if (node.type === 'ObjectLiteral' && node.value instanceof Map) {
    const entries = [...(node.value as Map<Node, Node>)];
    node.value = new Map(entries.map(([key, value]) => [isNumber(key) ? asText(key) : key, value]));
  } else if (node.type === 'MemberExpression' && node.computed && isNode(node.object)) {
    const { object, property } = node;
    // Its object is computed twice, so it is one without costs.
    if (object.type === 'Identifier' && isNode(property) && property.type !== 'SliceExpression')
      node.property = { type: 'CallExpression', callee: identifier(KEY), args: [object, property] };
  }
}

const isNumber = ({ type }: Node): boolean => type === 'IntegerLiteral' || type === 'FloatLiteral';
const asText = ({ value }: Node): Node => ({ type: 'StringLiteral', value: String(value) });

const keyOf = (object: unknown, key: unknown): unknown =>
  object instanceof Map && typeof key === 'number' ? String(key) : key;

function boundedRange(first: number, second?: number, by = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / by));
  if (!(length <= MAX_RANGE)) throw new BoundError(`its range() has more than ${MAX_RANGE} numbers`);
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

/** For models that have its tokens and no template: the notation that most are trained on. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}";

/** Texts of the tokens by which a chat template begins and ends a conversation; null: the model has none. */
export interface SpecialTokens {
  bos: string | null;
  eos: string | null;
  /** Whether the vocabulary has the tokens of ChatML, which a model without a template is then given. */
  chatMl?: boolean;
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
  /** null: the model has no notation for conversations. */
  readonly #template: BoundedTemplate | null;
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
    const notation = source ?? (tokens.chatMl ? CHATML : null);
    this.#template = notation === null ? null : new BoundedTemplate(notation);
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

  /** False: the model continues text (`/v1/completions`) and cannot chat. */
  get chats(): boolean {
    return this.#template !== null;
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
    const template = this.#template;
    if (!template) throw noTemplate();
    const render: Render = (turns, addGenerationPrompt, { enableThinking, effort }) =>
      template.render({
        messages: turns,
        add_generation_prompt: addGenerationPrompt,
        enable_thinking: enableThinking,
        ...(effort && { reasoning_effort: effort }),
        bos_token: this.#tokens.bos ?? '',
        eos_token: this.#tokens.eos ?? '',
      });
    const thinking: Thinking = {
      enableThinking: asksToThink(reasoning),
      ...(reasoning?.effort && { effort: reasoning.effort }),
    };
    const turns = messages.map((message) => (this.#knowsTools ? native(message) : plain(message)));
    const prompt = renderTurns(turns, (each) => render(each, true, thinking));
    return this.#keepsAddedText
      ? prompt
      : this.#withoutAddedText(prompt, messages[0]?.role === 'system', render, thinking);
  }

  /** The caller's messages alone: a template's default system message changes the answers, and costs its tokens. */
  #withoutAddedText(prompt: string, hasSystem: boolean, render: Render, thinking: Thinking): string {
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
    const added = findAddedText(render, start, hasSystem, thinking);
    this.#added.set(hasSystem, added);
    return cut(added) ?? prompt;
  }

  #withoutBos(prompt: string): string {
    const { bos } = this.#tokens;
    return this.#addsBos && bos && prompt.startsWith(bos) ? prompt.slice(bos.length) : prompt;
  }
}

const noTemplate = (): ServiceError =>
  requestError(
    400,
    'This model has no chat template: it continues text and cannot chat. Use /v1/completions, or a chat model.',
    'unsupported_value',
    'model',
  );

/** @throws ServiceError 400 when the model's template refuses the conversation */
function renderTurns(turns: TemplateMessage[], render: (turns: TemplateMessage[]) => string): string {
  try {
    return render(turns);
  } catch (error) {
    const renamed = withShortIds(turns);
    try {
      if (renamed) return render(renamed);
    } catch {
      // The first error is of the caller's own messages.
    }
    const why = error instanceof Error ? error.message : String(error);
    throw requestError(
      400,
      `This model's chat template does not take these messages: ${why}`,
      null,
      'messages',
    );
  }
}

/** Ids of calls as templates of the Mistral family require them: nine letters and digits. */
const SHORT_ID = /^[a-zA-Z0-9]{9}$/;

/** @returns null where no id is of another form */
function withShortIds(turns: TemplateMessage[]): TemplateMessage[] | null {
  const ids = new Map<string, string>();
  const shortId = (id: string): string => {
    if (SHORT_ID.test(id)) return id;
    const short = ids.get(id) ?? `call${String(ids.size).padStart(5, '0')}`;
    ids.set(id, short);
    return short;
  };
  const renamed = turns.map(({ tool_call_id: id, tool_calls: calls, ...turn }) => ({
    ...turn,
    ...(id !== undefined && { tool_call_id: shortId(id) }),
    ...(calls && { tool_calls: calls.map((call) => ({ ...call, id: shortId(call.id) })) }),
  }));
  return ids.size > 0 ? renamed : null;
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
