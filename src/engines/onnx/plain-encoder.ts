import type { PreTrainedTokenizer } from '@huggingface/transformers';

import { CallerText, isControlToken } from '#chat-template';

/** Tokenizes callers' texts, of which nothing becomes a special token. */
export class PlainEncoder {
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #callers: CallerText;
  readonly #reserved: ReadonlySet<number>;

  constructor(tokenizer: PreTrainedTokenizer) {
    this.#tokenizer = tokenizer;
    const special = new Set(tokenizer.all_special_ids);
    const reserved = [...tokenizer.get_vocab()].filter(
      ([text, id]) => special.has(id) || isControlToken(text),
    );
    this.#callers = new CallerText(reserved.map(([text]) => text));
    // Unknown characters stay unknown.
    this.#reserved = new Set(reserved.map(([, id]) => id).filter((id) => id !== tokenizer.unk_token_id));
  }

  /** @returns the ids without the special tokens that a model requires around a text */
  encode(text: string): number[] {
    const ids = this.#tokenizer.encode(this.#callers.append('', text), { add_special_tokens: false });
    // A normalizer may write a token that the text did not contain.
    return ids.filter((id) => !this.#reserved.has(id));
  }
}
