import { toWireError } from '../../errors/engine-errors.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { WireError } from '../../errors/wire-error.ts';
import type { ChatJob } from '../../jobs/chat.ts';
import { ChatPrompt, type SpecialTokens } from '../prompt/chat-prompt.ts';
import type { ChatOpening } from '../prompt/think-first.ts';

/** Facts about a model's prompts, from its file and its catalog. */
export interface PromptFormat {
  /** The chat template; null: the file has none. */
  source: string | null;
  tokens: SpecialTokens;
  /** llama.cpp puts the first token before every prompt by itself. */
  addsBos: boolean;
  /** Set for a model that answers badly without its template's own system message. */
  keepsAddedText?: boolean | undefined;
}

/** Errors are values: thrown ones lose their fields between workers. */
export type Opened = { opening: ChatOpening; error: null } | { opening: null; error: WireError };

let prompt: ChatPrompt | null = null;

/** Renders the prompts of one model, in a separate worker: a chat template is a program from a file. */
export const templateWorker = {
  /** @returns why the template cannot be used; null: it can */
  async load({ source, tokens, addsBos, keepsAddedText }: PromptFormat): Promise<string | null> {
    try {
      prompt = new ChatPrompt(source, tokens, addsBos, keepsAddedText);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
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
