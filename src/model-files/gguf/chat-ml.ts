import type { ByteCursor } from './byte-cursor.ts';
import { type Gguf, hasTexts } from './read-gguf.ts';

export const TOKENS_KEY = 'tokenizer.ggml.tokens';

/** Whether the vocabulary has the tokens by which ChatML begins and ends a message. */
export function hasChatMl({ metadata }: Gguf, cursor: ByteCursor): boolean {
  const tokens = metadata.get(TOKENS_KEY);
  return tokens !== undefined && hasTexts(cursor, tokens.at, ['<|im_start|>', '<|im_end|>']);
}
