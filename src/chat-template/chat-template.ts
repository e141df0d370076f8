import { messageOf, requestError, type ServiceError } from '#base';
import type { ChatMessage, Reasoning } from '#jobs';
import { BoundedTemplate, BoundError, type TemplateMessage } from './bounded-template.ts';
import { ClientText, isBracketed } from './client-text.ts';
import { arrange, CALL_FORMS, type ConversationForm } from './conversation-form.ts';
import { isHarmony } from './think-tags.ts';

/** Texts of a vocabulary's special tokens. */
export interface SpecialTokens {
  /** Texts of the tokens with which a template begins and ends a conversation; null if the model has none. */
  bos: string | null;
  eos: string | null;
  /** Whether the vocabulary has ChatML's tokens: ChatML then replaces a missing template. */
  chatMl?: boolean;
  /** Texts that clients' texts must not become: of all special tokens, and the marker of an image. */
  reserved: readonly string[];
  /** Texts of tokens that a file marks "user defined". Those with which the template marks turns are reserved, too. */
  userDefined?: readonly string[];
}

export interface RenderOptions {
  enableThinking?: boolean;
  effort?: Reasoning['effort'] | undefined;
  /** Text that stands for an image. */
  marker?: string | null;
}

type Effort = NonNullable<Reasoning['effort']>;

/** Efforts to try if a template rejects one, the nearest first. */
const NEAREST: Record<Effort, readonly Effort[]> = {
  none: [],
  minimal: ['low', 'none'],
  low: ['minimal', 'medium', 'high'],
  medium: ['high', 'low'],
  high: ['medium'],
  xhigh: ['high'],
  max: ['high'],
};
const EFFORTS = Object.keys(NEAREST) as Effort[];

/** Form of a template that rejects the probes: the client's own. */
const OWN_FORM: ConversationForm = { calls: 'native', system: 'anywhere', alternates: false };

/** Makes a text that no template contains, escapes or trims. */
const probeText = (what: string): string => `localtextprobe${what}end`;
const NAME = probeText('name');

const system: ChatMessage = { role: 'system', content: probeText('system') };
const late: ChatMessage = { role: 'system', content: probeText('late') };
const user: ChatMessage = { role: 'user', content: probeText('user') };
const next: ChatMessage = { role: 'user', content: probeText('next') };
const assistant: ChatMessage = { role: 'assistant', content: probeText('assistant') };
const result: ChatMessage = { role: 'tool', content: probeText('result'), toolCallId: 'call_1' };
const called: readonly ChatMessage[] = [
  user,
  { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: NAME, arguments: '{"key":"value"}' }] },
  result,
];
/** Pairs of conversations, of which the second has more turns or results. */
const GROWN: readonly (readonly (readonly ChatMessage[])[])[] = [
  [[user], [user, assistant, next]],
  [[user], [system, user]],
  [called, [...called, result]],
];

/**
 * A model's chat template. Probe conversations find the form that it takes; then each prompt is rendered once, and once
 * more in a stricter form if the template rejects it or omits a call.
 */
export class ChatTemplate {
  clientText: ClientText;
  readonly #template: BoundedTemplate;
  readonly #tokens: SpecialTokens;
  #form: ConversationForm = OWN_FORM;
  /** Effort that the template gets for each effort; undefined for none. */
  readonly #efforts = new Map<Effort, Effort | undefined>();

  /** @throws Error if it cannot be used */
  constructor(template: string, tokens: SpecialTokens) {
    if (isHarmony(template))
      throw new Error("its replies are in gpt-oss's harmony format, which localtext cannot read");
    this.#tokens = tokens;
    this.clientText = new ClientText(tokens.reserved);
    this.#template = new BoundedTemplate(template, (text) => this.clientText.plain(text));
    try {
      this.#form = this.#findForm(/tool_calls/.test(template));
      const marks = this.#findMarks(tokens.userDefined ?? []);
      if (marks.length > 0) this.clientText = new ClientText([...tokens.reserved, ...marks]);
      if (/reasoning_effort/.test(template) && this.#accepts()) this.#findEfforts();
    } catch (error) {
      // A template that exceeds its bounds is not probed further.
      if (!(error instanceof BoundError)) throw error;
    }
  }

  /** Renders a conversation, in which the characters of clients' texts are marked. @throws ServiceError 400 */
  renderMarked(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    const { marker = null } = options;
    const turns = arrange(messages, this.#form, this.clientText, marker);
    let first: string | null = null;
    let refusal: unknown = null;
    try {
      first = this.#render(turns, options);
      if (showsCalls(turns, first)) return first;
    } catch (error) {
      refusal = error;
    }
    try {
      if (refusal instanceof BoundError) throw refusal;
      return this.#render(
        arrange(messages, stricter(this.#form, messages), this.clientText, marker),
        options,
      );
    } catch {
      if (first !== null) return first;
      // The first error is about the client's own messages.
      throw rejected(this.clientText.plain(messageOf(refusal)));
    }
  }

  #render(messages: readonly TemplateMessage[], { enableThinking = false, effort }: RenderOptions): string {
    const known = effort && this.#efforts.has(effort) ? this.#efforts.get(effort) : effort;
    return this.#template.render({
      messages,
      add_generation_prompt: true,
      enable_thinking: enableThinking,
      thinking: enableThinking,
      ...(known && { reasoning_effort: known }),
      bos_token: this.#tokens.bos ?? '',
      eos_token: this.#tokens.eos ?? '',
    });
  }

  #findForm(knowsTools: boolean): ConversationForm {
    const inText: ConversationForm = { ...OWN_FORM, calls: 'in text' };
    if (this.#probe([user], inText) === 'rejected') return OWN_FORM;
    const alternates = this.#probe([user, next], inText) === 'rejected';
    const form = { ...inText, alternates, system: this.#findSystemForm({ ...inText, alternates }) };
    const calls = CALL_FORMS.find(
      (each) => knowsTools && this.#probe(called, { ...form, calls: each }) === 'shown',
    );
    return calls ? { ...form, calls } : form;
  }

  #findSystemForm(form: ConversationForm): ConversationForm['system'] {
    if (this.#probe([system, user, assistant, late, next], form) === 'shown') return 'anywhere';
    // A template that omits system messages gets them nevertheless.
    const places = ['first', 'in user'] as const;
    return (
      places.find((place) => this.#probe([system, user], { ...form, system: place }) !== 'rejected') ??
      'anywhere'
    );
  }

  /** Whether the template accepts a conversation in a form, and shows its system texts, calls and results. */
  #probe(messages: readonly ChatMessage[], form: ConversationForm): 'shown' | 'omitted' | 'rejected' {
    const prompt = this.#rendered(messages, form);
    if (prompt === undefined) return 'rejected';
    const texts = messages.flatMap((message) => {
      if ('toolCalls' in message) return [NAME];
      return message.role === 'system' || message.role === 'tool' ? [message.content] : [];
    });
    return texts.every((text) => prompt.includes(text)) ? 'shown' : 'omitted';
  }

  /** Finds the user-defined tokens of which a prompt has more if its conversation has more turns or results. */
  #findMarks(userDefined: readonly string[]): string[] {
    const bracketed = userDefined.filter(isBracketed);
    if (bracketed.length === 0) return [];
    const marks = GROWN.flatMap((pair) => {
      const [few, many] = pair.map((messages) => this.#rendered(messages));
      if (few === undefined || many === undefined) return [];
      return bracketed.filter((token) => timesIn([many], token) > timesIn([few], token));
    });
    return [...new Set(marks)];
  }

  /** Renders a probe; undefined if the template rejects it. */
  #rendered(
    messages: readonly ChatMessage[],
    form = this.#form,
    options: RenderOptions = {},
  ): string | undefined {
    try {
      return this.#render(arrange(messages, form, this.clientText), options);
    } catch (error) {
      if (error instanceof BoundError) throw error;
      return undefined;
    }
  }

  #findEfforts(): void {
    const accepted = new Set(EFFORTS.filter((effort) => this.#accepts(effort)));
    for (const effort of EFFORTS)
      this.#efforts.set(
        effort,
        [effort, ...NEAREST[effort]].find((each) => accepted.has(each)),
      );
  }

  #accepts(effort?: Effort): boolean {
    const enableThinking = effort !== undefined && effort !== 'none';
    return this.#rendered([user], this.#form, { enableThinking, effort }) !== undefined;
  }
}

/** Form in which a template may take a conversation that it rejects in its usual form. */
function stricter(form: ConversationForm, messages: readonly ChatMessage[]): ConversationForm {
  const hasCalls = messages.some((message) => message.role === 'tool' || 'toolCalls' in message);
  if (hasCalls && form.calls !== 'in text') return { ...form, calls: 'in text' };
  return { calls: 'in text', system: form.system === 'in user' ? 'in user' : 'first', alternates: true };
}

/** Whether a prompt contains each call as often as it was made. */
function showsCalls(turns: readonly TemplateMessage[], prompt: string): boolean {
  const names = turns.flatMap((turn) => turn.tool_calls ?? []).map((call) => call.function.name);
  const texts = [...turns.map(({ content }) => content ?? ''), ...names];
  return [...new Set(names)].every((name) => timesIn([prompt], name) >= timesIn(texts, name));
}

const timesIn = (texts: readonly string[], part: string): number =>
  texts.reduce((sum, text) => sum + text.split(part).length - 1, 0);

const rejected = (why: string): ServiceError =>
  requestError(400, `This model's chat template does not take these messages: ${why}`, null, 'messages');
