import { requestError } from '#base';
import type { ChatJob } from '#jobs';
import { ClientText } from './client-text.ts';
import { ChatTemplate, type SpecialTokens } from './chat-template.ts';
import { asksToThink, type ChatOpening, openReply } from './think-first.ts';
import { thinkTags, type ThinkTags } from './think-tags.ts';
import { RESULT_START } from './tool-call-text.ts';

/** ChatML, for models that have its tokens but no template. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}";

/**
 * Makes the prompts of jobs. llama.cpp's own rendering would not start a new reply after a final assistant message, as
 * OpenAI does, nor continue a partial reply exactly.
 */
export class ChatPrompt {
  readonly #tokens: SpecialTokens;
  /** Whether llama.cpp adds the BOS token to every prompt. */
  readonly #addsBos: boolean;
  /** Null if the model only continues text. */
  readonly #template: ChatTemplate | null;
  readonly #clientText: ClientText;
  readonly #tags: ThinkTags | null;
  /** Whether the template can turn reasoning on and off. */
  readonly #canSwitch: boolean;

  /** @throws Error if the template cannot be used */
  constructor(template: string | null, tokens: SpecialTokens, addsBos: boolean) {
    const notation = template ?? (tokens.chatMl ? CHATML : null);
    this.#tokens = tokens;
    this.#addsBos = addsBos;
    this.#template = notation === null ? null : new ChatTemplate(notation, tokens);
    this.#clientText = this.#template?.clientText ?? new ClientText(tokens.reserved);
    this.#tags = thinkTags(notation ?? '');
    this.#canSwitch = /enable_thinking/.test(notation ?? '');
  }

  /**
   * Makes the prompt of a job.
   * @param marker text that stands for an image in the prompt
   * @throws ServiceError 400 if the model's template rejects the conversation
   */
  open(job: ChatJob, marker: string | null = null): ChatOpening {
    const { input, reasoning, resume } = job;
    const partial = resume?.text ?? '';
    if ('prompt' in input) {
      const start = input.isText ? this.#clientText.append('', input.prompt) : input.prompt;
      return { prompt: this.#clientText.append(start || this.#start, partial), thinking: null };
    }
    if (!this.#template) throw noTemplate();
    const marked = this.#withoutBos(
      this.#template.renderMarked(input.messages, {
        // Without known tags, the reasoning would be part of the answer.
        enableThinking: this.#tags !== null && asksToThink(reasoning),
        effort: reasoning?.effort,
        marker,
      }),
    );
    const results = hasResults(job) && marked.includes(RESULT_START) && { hasResults: true };
    const text = this.#clientText;
    if (!this.#tags) return { prompt: text.append(text.broken(marked), partial), thinking: null, ...results };
    const { isAsked = this.#canSwitch } = this.#tags;
    return { ...openReply(marked, this.#tags, job, isAsked && asksToThink(reasoning), text), ...results };
  }

  /** Prompt for an empty text: a special token, or '' if llama.cpp adds one. It computes no empty prompt. */
  get #start(): string {
    const { bos, eos } = this.#tokens;
    return this.#addsBos ? '' : (bos ?? eos ?? '');
  }

  #withoutBos(prompt: string): string {
    const { bos } = this.#tokens;
    return this.#addsBos && bos && prompt.startsWith(bos) ? prompt.slice(bos.length) : prompt;
  }
}

const hasResults = ({ input, constraint }: ChatJob): boolean =>
  !constraint && 'messages' in input && input.messages.some(({ role }) => role === 'tool');

const noTemplate = () =>
  requestError(
    400,
    'This model has no chat template: it continues text and cannot chat. Use /v1/completions, or a chat model.',
    'unsupported_value',
    'model',
  );
