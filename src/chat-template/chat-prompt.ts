import { toWireError, requestError, ServiceError, messageOf, type WireError } from '#base';
import type { ChatJob, ChatMessage, Reasoning, ToolCall } from '#jobs';
import { CallerText } from './caller-text.ts';
import { BoundedTemplate, BoundError, type TemplateMessage } from './bounded-template.ts';
import { asksToThink, type ChatOpening, openReply } from './think-first.ts';
import { isHarmony, thinkTags, type ThinkTags } from './think-tags.ts';
import { withToolCalls } from './tool-call-text.ts';

/** ChatML, for models that have its tokens but no template. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}";

/** Time after which no further rendering of a prompt starts: a hostile template may reject every form at its very end. */
const MAX_RENDERS_MS = 5000;

/** Texts of the tokens with which a chat template begins and ends a conversation; null if the model has none. */
export interface SpecialTokens {
  bos: string | null;
  eos: string | null;
  /** Whether the vocabulary has ChatML's tokens: ChatML then replaces a missing template. */
  chatMl?: boolean;
  /** Texts that callers' texts must not become: of the vocabulary's special tokens, and the marker of an image. */
  reserved: readonly string[];
}

/**
 * Renders conversations with the model's template. llama.cpp's own rendering would not start a new reply after a final
 * assistant message, as OpenAI does, nor continue a partial reply exactly.
 */
export class ChatPrompt {
  /** Chat template; null if the model has none. */
  readonly #template: BoundedTemplate | null;
  readonly #tokens: SpecialTokens;
  readonly #callers: CallerText;
  /** Whether llama.cpp adds the BOS token to every prompt. */
  readonly #addsBos: boolean;
  readonly #knowsTools: boolean;
  readonly #tags: ThinkTags | null;
  /** Whether the template can turn reasoning on and off. */
  readonly #canSwitch: boolean;
  /** Whether the template reads the effort, and may reject one. */
  readonly #readsEffort: boolean;
  /** Maps efforts that the template rejected to efforts that it accepts. */
  readonly #acceptedEfforts = new Map<Effort, Effort>();

  /** @throws Error if the template cannot be used */
  constructor(source: string | null, tokens: SpecialTokens, addsBos: boolean) {
    if (isHarmony(source ?? ''))
      throw new Error("its replies are in gpt-oss's harmony format, which localtext cannot read");
    const notation = source ?? (tokens.chatMl ? CHATML : null);
    this.#callers = new CallerText(tokens.reserved);
    this.#template = notation === null ? null : new BoundedTemplate(notation, this.#callers.plain);
    this.#tokens = tokens;
    this.#addsBos = addsBos;
    this.#knowsTools = /tool_calls/.test(source ?? '');
    this.#tags = thinkTags(source ?? '');
    this.#canSwitch = /enable_thinking/.test(source ?? '');
    this.#readsEffort = /reasoning_effort/.test(source ?? '');
  }

  /**
   * Renders the prompt of a job.
   * @param marker text that stands for an image in the prompt
   * @throws ServiceError 400 if the model's template rejects the conversation
   */
  open(job: ChatJob, marker: string | null = null): ChatOpening {
    const { input, reasoning, resume } = job;
    const partial = resume?.text ?? '';
    if ('prompt' in input)
      return { prompt: this.#callers.append(input.prompt || this.#start, partial), thinking: null };
    const messages = input.messages.map((message) =>
      withMarkers(marker)({ ...message, content: this.#callers.mark(message.content) }),
    );
    const start = this.#withoutBos(this.#rendered(messages, reasoning));
    if (!this.#tags)
      return { prompt: this.#callers.append(this.#callers.broken(start), partial), thinking: null };
    const { isAsked = this.#canSwitch } = this.#tags;
    return openReply(start, this.#tags, job, isAsked && asksToThink(reasoning), this.#callers);
  }

  /** Prompt for an empty text: a special token, or '' if llama.cpp adds one. It computes no empty prompt. */
  get #start(): string {
    const { bos, eos } = this.#tokens;
    return this.#addsBos ? '' : (bos ?? eos ?? '');
  }

  #rendered(messages: readonly ChatMessage[], reasoning?: Reasoning): string {
    const template = this.#template;
    if (!template) throw noTemplate();
    const began = performance.now();
    // Without known tags, the reasoning would be part of the answer.
    const thinks = this.#tags !== null && asksToThink(reasoning);
    const render = (turns: readonly TemplateMessage[]): string =>
      this.#withEffort(reasoning?.effort, (effort) => {
        if (performance.now() - began > MAX_RENDERS_MS) throw new BoundError('it takes too long');
        return template.render({
          messages: turns,
          add_generation_prompt: true,
          enable_thinking: thinks,
          thinking: thinks,
          ...(effort && { reasoning_effort: effort }),
          bos_token: this.#tokens.bos ?? '',
          eos_token: this.#tokens.eos ?? '',
        });
      });
    return renderFirst(conversationForms(messages, this.#knowsTools, this.#callers), render, this.#callers);
  }

  /** Renders with an effort. If the template rejects it, renders with the nearest accepted effort, or without one. */
  #withEffort(effort: Effort, render: (effort: Effort) => string): string {
    const known = this.#acceptedEfforts.has(effort);
    try {
      return render(known ? this.#acceptedEfforts.get(effort) : effort);
    } catch (refusal) {
      if (known || effort === undefined || !this.#readsEffort || refusal instanceof BoundError) throw refusal;
      const { accepted, prompt } = renderNearest(effort, render, refusal);
      this.#acceptedEfforts.set(effort, accepted);
      return prompt;
    }
  }

  #withoutBos(prompt: string): string {
    const { bos } = this.#tokens;
    return this.#addsBos && bos && prompt.startsWith(bos) ? prompt.slice(bos.length) : prompt;
  }
}

type Effort = Reasoning['effort'];

/** Renders; null if the template rejects the conversation. @throws BoundError: a slow device does not prove a rejection */
function attempt(render: () => string): string | null {
  try {
    return render();
  } catch (error) {
    if (error instanceof BoundError) throw error;
    return null;
  }
}

/** Efforts to try if a template rejects one, the nearest first. */
const NEAREST: Record<NonNullable<Effort>, readonly Effort[]> = {
  none: [],
  minimal: ['low', 'none'],
  low: ['minimal', 'medium', 'high'],
  medium: ['high', 'low'],
  high: ['medium'],
  xhigh: ['high'],
  max: ['high'],
};

/**
 * Renders with the nearest effort that the template accepts, or without one.
 * @throws `refusal` if the template rejects the messages with any effort; BoundError with the
 *   message of `refusal` past a bound
 */
function renderNearest(
  effort: NonNullable<Effort>,
  render: (effort: Effort) => string,
  refusal: unknown,
): { accepted: Effort; prompt: string } {
  try {
    const without = attempt(() => render(undefined));
    // The rejection has another reason, such as roles that do not alternate.
    if (without === null) throw refusal;
    for (const near of NEAREST[effort]) {
      const prompt = attempt(() => render(near));
      if (prompt !== null) return { accepted: near, prompt };
    }
    return { accepted: undefined, prompt: without };
  } catch (error) {
    throw error instanceof BoundError ? new BoundError(messageOf(refusal), { cause: error }) : error;
  }
}

const noTemplate = (): ServiceError =>
  requestError(
    400,
    'This model has no chat template: it continues text and cannot chat. Use /v1/completions, or a chat model.',
    'unsupported_value',
    'model',
  );

/**
 * Renders the first form that the template accepts and shows completely, or else the first that it accepts.
 * @throws ServiceError 400 if the model's template rejects all forms
 */
function renderFirst(
  forms: Iterable<TemplateMessage[]>,
  render: (turns: TemplateMessage[]) => string,
  callers: CallerText,
): string {
  let first: string | null = null;
  let refusal: unknown = null;
  for (const turns of forms) {
    try {
      const prompt = render(turns);
      if (showsCallsAndSystem(turns, prompt) && showsResults(turns, render)) return prompt;
      first ??= prompt;
    } catch (error) {
      // Report the first error: it is about the caller's own messages.
      refusal ??= error;
      if (error instanceof BoundError) break;
    }
  }
  if (first !== null) return first;
  const why = callers.plain(messageOf(refusal));
  const message = `This model's chat template does not take these messages: ${why}`;
  throw requestError(400, message, null, 'messages');
}

/** Text of an object that a template concatenates. */
const OBJECT_AS_TEXT = '[object Map]';

/** Probe text that no template contains, escapes or trims. */
const resultProbe = (index: number): string => `localtextresultprobe${index}end`;

/**
 * Whether a template shows the results of the conversation's calls. Checked with probe texts, as a short result
 * such as a digit may occur elsewhere in the prompt.
 */
function showsResults(turns: TemplateMessage[], render: (turns: TemplateMessage[]) => string): boolean {
  const isResult = turns.map(({ role }) => role === 'tool');
  if (!isResult.includes(true)) return true;
  const probed = turns.map((turn, at) => (isResult[at] ? { ...turn, content: resultProbe(at) } : turn));
  try {
    const prompt = render(probed);
    return isResult.every((is, at) => !is || prompt.includes(resultProbe(at)));
  } catch {
    // The template only accepts results of another form, or the time is up.
    return true;
  }
}

/**
 * Whether a prompt contains each call as often as it was made, and, if a system message is not the first message,
 * the texts of all system messages.
 */
function showsCallsAndSystem(turns: readonly TemplateMessage[], prompt: string): boolean {
  const calls = turns.flatMap((turn) => turn.tool_calls ?? []);
  if (calls.length > 0 && prompt.includes(OBJECT_AS_TEXT)) return false;
  const names = calls.map((call) => call.function.name);
  const texts = [...turns.map(({ content }) => content ?? ''), ...names];
  const system = turns.slice(1).some(isSystem) ? turns.filter(isSystem) : [];
  return (
    system.every(({ content }) => prompt.includes((content ?? '').trim())) &&
    [...new Set(names)].every((name) => timesIn([prompt], name) >= timesIn(texts, name))
  );
}

const timesIn = (texts: readonly string[], part: string): number =>
  texts.reduce((sum, text) => sum + text.split(part).length - 1, 0);

/** Generates forms of a conversation that templates may accept, the caller's own first. */
function* conversationForms(
  messages: readonly ChatMessage[],
  knowsTools: boolean,
  callers: CallerText,
): Generator<TemplateMessage[]> {
  if (knowsTools) {
    const turns = messages.map((message) => native(message, callers));
    yield* systemForms(turns);
    const renamed = withShortIds(turns);
    if (renamed) yield* systemForms(renamed);
    if (turns.some((turn) => turn.tool_calls)) yield* systemForms(turns.map(withTextArguments));
  }
  const inText = messages.map((message) => plain(message, callers));
  if (!knowsTools || messages.some(({ role }) => role === 'tool')) yield* systemForms(inText);
  // Some templates require that roles alternate.
  for (const turns of systemForms(inText)) yield joinNeighbours(turns);
}

const isSystem = ({ role }: TemplateMessage): boolean => role === 'system';

/**
 * Generates forms for templates that restrict system messages. Many accept one leading system message and reject or
 * omit others: all are joined at the front. Some accept none: the text is put before the first user message.
 */
function* systemForms(turns: TemplateMessage[]): Generator<TemplateMessage[]> {
  yield turns;
  const system = turns.filter(isSystem);
  if (system.length === 0) return;
  const content = system.map((each) => each.content).join('\n\n');
  const others = turns.filter((turn) => !isSystem(turn));
  if (system.length > 1 || others[0] === turns[0]) yield [{ role: 'system', content }, ...others];
  const [next, ...rest] = others;
  yield [...joinNeighbours([{ role: 'user', content }, ...(next ? [next] : [])]), ...rest];
}

/** Joins consecutive messages of the same role. */
function joinNeighbours(turns: readonly TemplateMessage[]): TemplateMessage[] {
  const joined: TemplateMessage[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last?.role === turn.role)
      joined[joined.length - 1] = { ...last, content: `${last.content}\n\n${turn.content}` };
    else joined.push(turn);
  }
  return joined;
}

/** Form for templates that write calls only if the message has no text, and take arguments as JSON text. */
const withTextArguments = ({ content, tool_calls: calls, ...turn }: TemplateMessage): TemplateMessage => ({
  ...turn,
  content: calls && content === '' ? null : content,
  ...(calls && {
    tool_calls: calls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: written(call.function.arguments) },
    })),
  }),
});

/** Call ids that templates of the Mistral family require: nine letters and digits. */
const SHORT_ID = /^[a-zA-Z0-9]{9}$/;

/** Replaces other call ids by short ones; null if there are no others. */
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

/** Inserts a marker at the position of each image. */
const withMarkers =
  (marker: string | null) =>
  (message: ChatMessage): ChatMessage => {
    if (message.role !== 'user' || !message.images || marker === null) return message;
    const { images, content, ...others } = message;
    const texts = images.map(({ at }, index) => content.slice(images[index - 1]?.at ?? 0, at) + marker);
    return { ...others, content: texts.join('') + content.slice(images.at(-1)?.at ?? 0) };
  };

function native(message: ChatMessage, callers: CallerText): TemplateMessage {
  const { role, content } = message;
  if (message.role === 'tool') return { role, content, tool_call_id: callers.mark(message.toolCallId) };
  if (message.role !== 'assistant' || !message.toolCalls) return { role, content };
  return {
    role,
    content,
    tool_calls: message.toolCalls.map(({ id, name, arguments: json }) => ({
      id: callers.mark(id),
      type: 'function',
      function: { name: callers.mark(name), arguments: callers.markAll(parsed(json)) },
    })),
  };
}

/** Writes calls and results into the text, for templates that do not support tools and would omit both. */
function plain(message: ChatMessage, callers: CallerText): TemplateMessage {
  if (message.role === 'tool')
    return { role: 'user', content: `<tool_response>\n${message.content}\n</tool_response>` };
  const { role, content } = message;
  if (message.role !== 'assistant' || !message.toolCalls) return { role, content };
  return {
    role,
    content: withToolCalls(
      content,
      message.toolCalls.map((call) => markedCall(call, callers)),
    ),
  };
}

const markedCall = (call: ToolCall, callers: CallerText): ToolCall => ({
  ...call,
  name: callers.mark(call.name),
  arguments: callers.mark(call.arguments),
});

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const MAX_ARGUMENTS = 2_000_000;

/** Parses a call's arguments, which templates expect as objects. Invalid JSON stays text. */
function parsed(json: string): unknown {
  // No context holds as much, and V8 compares long keys with each other.
  if (json.length > MAX_ARGUMENTS) return json;
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** Facts about a model's prompts, from its file and its catalog. */
export interface PromptFormat {
  /** The chat template; null if the file has none. */
  source: string | null;
  tokens: SpecialTokens;
  /** Whether llama.cpp adds the BOS token to every prompt. */
  addsBos: boolean;
}

/** Result of `open()`. Errors are values, as thrown errors lose their fields between workers. */
export type Opened = { opening: ChatOpening; error: null } | { opening: null; error: WireError };

let prompt: ChatPrompt | null = null;

/** Renders the prompts of one model in a worker that can be terminated: a chat template is a program from a file. */
export const templateWorker = {
  /** Parses the template. @returns why it cannot be used; null if it can */
  async load({ source, tokens, addsBos }: PromptFormat): Promise<string | null> {
    try {
      prompt = new ChatPrompt(source, tokens, addsBos);
      return null;
    } catch (error) {
      return messageOf(error);
    }
  },

  async open(job: ChatJob, marker: string | null): Promise<Opened> {
    if (!prompt) throw new Error('no template is loaded');
    try {
      return { opening: prompt.open(job, marker), error: null };
    } catch (error) {
      if (!(error instanceof ServiceError)) console.error('localtext: a prompt was not rendered', error);
      return { opening: null, error: toWireError(error) };
    }
  },
};
