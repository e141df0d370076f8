import type { ChatJob } from '../../protocol/job.ts';
import { choiceCount, type Generation } from './generation.ts';

/** A reply without a limit is taken for this long until it has ended. */
const DEFAULT_REPLY_TOKENS = 256;
/** More for a prompt or a reply is more than most contexts hold: what comes of it is counted afterwards. */
const MAX_TOKENS = 4096;
const CHARACTERS_PER_TOKEN = 4;
/** Role and delimiters of the chat template. */
const TOKENS_PER_MESSAGE = 4;

/** About what a request will cost, known before its engine has counted: to be reserved, and corrected after it. */
export function estimateTokens(generation: Generation): number {
  const { inputs, maxTokens } = generation;
  const reply = Math.min(maxTokens ?? DEFAULT_REPLY_TOKENS, MAX_TOKENS);
  const prompts = inputs.reduce((total, input) => total + Math.min(promptTokens(input), MAX_TOKENS), 0);
  return prompts + reply * choiceCount(generation);
}

function promptTokens(input: ChatJob['input']): number {
  if ('prompt' in input) return Math.ceil(input.prompt.length / CHARACTERS_PER_TOKEN);
  const characters = input.messages.reduce((total, { content }) => total + content.length, 0);
  return Math.ceil(characters / CHARACTERS_PER_TOKEN) + input.messages.length * TOKENS_PER_MESSAGE;
}
