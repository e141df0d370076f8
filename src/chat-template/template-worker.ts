import { messageOf, ServiceError, toWireError, type WireError } from '#base';
import type { ChatJob } from '#jobs';
import { chatPrompt, type ChatPrompt } from './chat-prompt.ts';
import type { SpecialTokens } from './chat-template.ts';
import type { ChatOpening } from './think-first.ts';

/** Facts about a model's prompts, from its file. */
export interface PromptFormat {
  /** The chat template; null if the file has none. */
  template: string | null;
  tokens: SpecialTokens;
  /** Whether llama.cpp adds the BOS token to every prompt. */
  addsBos: boolean;
}

/** Result of `open()`. Errors are values, as thrown errors lose their fields between workers. */
export type Opened = { opening: ChatOpening; error: null } | { opening: null; error: WireError };

let prompt: ChatPrompt | null = null;

/** Makes the prompts of one model in a worker that can be terminated: a chat template is a program from a file. */
export const templateWorker = {
  /** Parses the template. @returns why it cannot be used; null if it can */
  async load({ template, tokens, addsBos }: PromptFormat): Promise<string | null> {
    try {
      prompt = chatPrompt(template, tokens, addsBos);
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
