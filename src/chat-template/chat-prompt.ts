import { requestError } from '#base';
import type { ChatJob } from '#jobs';
import { ClientText } from './client-text.ts';
import { ChatTemplate, type SpecialTokens } from './chat-template.ts';
import { asksToThink, type ChatOpening, openReply } from './think-first.ts';
import { thinkTags } from './think-tags.ts';
import { RESULT_START } from './tool-call-text.ts';

/** ChatML, for models that have its tokens but no template. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}";

export type ChatPrompt = ReturnType<typeof chatPrompt>;

/**
 * Makes the prompts of jobs. llama.cpp's own rendering would not start a new reply after a final assistant message, as
 * OpenAI does, nor continue a partial reply exactly.
 * @param addsBos whether llama.cpp adds the BOS token to every prompt
 * @throws Error if the template cannot be used
 */
export function chatPrompt(source: string | null, tokens: SpecialTokens, addsBos: boolean) {
  const { bos, eos, reserved, chatMl } = tokens;
  const notation = source ?? (chatMl ? CHATML : null);
  /** Null if the model only continues text. */
  const template = notation === null ? null : new ChatTemplate(notation, tokens);
  const text = template?.clientText ?? new ClientText(reserved);
  const tags = thinkTags(notation ?? '');
  /** Whether the template can turn reasoning on and off. */
  const canSwitch = /enable_thinking/.test(notation ?? '');
  /** Prompt for an empty text: a special token, or '' if llama.cpp adds one. It computes no empty prompt. */
  const start = addsBos ? '' : (bos ?? eos ?? '');
  const withoutBos = (prompt: string): string =>
    addsBos && bos && prompt.startsWith(bos) ? prompt.slice(bos.length) : prompt;

  return {
    /**
     * Makes the prompt of a job.
     * @param marker text that stands for an image in the prompt
     * @throws ServiceError 400 if the model's template rejects the conversation
     */
    open(job: ChatJob, marker: string | null = null): ChatOpening {
      const { input, reasoning, resume } = job;
      const partial = resume?.text ?? '';
      if ('prompt' in input) {
        const given = input.isText ? text.append('', input.prompt) : input.prompt;
        return { prompt: text.append(given || start, partial), thinking: null };
      }
      if (!template) throw noTemplate();
      const marked = withoutBos(
        template.renderMarked(input.messages, {
          // Without known tags, the reasoning would be part of the answer.
          enableThinking: tags !== null && asksToThink(reasoning),
          effort: reasoning?.effort,
          marker,
        }),
      );
      const results = hasResults(job) && marked.includes(RESULT_START) && { hasResults: true };
      if (!tags) return { prompt: text.append(text.broken(marked), partial), thinking: null, ...results };
      const { isAsked = canSwitch } = tags;
      return { ...openReply(marked, tags, job, isAsked && asksToThink(reasoning), text), ...results };
    },
  };
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
