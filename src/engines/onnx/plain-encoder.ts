import type { PreTrainedTokenizer } from '@huggingface/transformers';

import { ClientText, isControlToken } from '#chat-template/client-text';

export type PlainEncoder = (text: string) => number[];

export type PlainTokenizer = Pick<
  PreTrainedTokenizer,
  'all_special_ids' | 'unk_token_id' | 'get_vocab' | 'encode'
>;

/**
 * Tokenizes clients' texts, of which nothing becomes a special token.
 * @returns a function from a text to its ids, without the special tokens that a model requires around a text
 */
export function plainEncoder(tokenizer: PlainTokenizer): PlainEncoder {
  const special = new Set(tokenizer.all_special_ids);
  const reserved = [...tokenizer.get_vocab()].filter(([text, id]) => special.has(id) || isControlToken(text));
  const clientText = new ClientText(reserved.map(([text]) => text));
  // Unknown characters stay unknown.
  const reservedIds = new Set(reserved.map(([, id]) => id).filter((id) => id !== tokenizer.unk_token_id));
  return (text) => {
    const ids = tokenizer.encode(clientText.append('', text), { add_special_tokens: false });
    // A normalizer may write a token that the text did not contain.
    return ids.filter((id) => !reservedIds.has(id));
  };
}
