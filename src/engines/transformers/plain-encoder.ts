import type { PreTrainedTokenizer } from '@huggingface/transformers';

import { ClientText, isControlToken } from '#chat-template';

/** Tokenizes clients' texts, of which nothing becomes a special token. */
export class PlainEncoder {
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #clientText: ClientText;
  readonly #reserved: ReadonlySet<number>;

  constructor(tokenizer: PreTrainedTokenizer) {
    this.#tokenizer = tokenizer;
    const special = new Set(tokenizer.all_special_ids);
    const reserved = [...tokenizer.get_vocab()].filter(
      ([text, id]) => special.has(id) || isControlToken(text),
    );
    this.#clientText = new ClientText(reserved.map(([text]) => text));
    // Unknown characters stay unknown.
    this.#reserved = new Set(reserved.map(([, id]) => id).filter((id) => id !== tokenizer.unk_token_id));
  }

  /** @returns the ids without the special tokens that a model requires around a text */
  encode(text: string): number[] {
    const ids = this.#tokenizer.encode(this.#clientText.append('', text), { add_special_tokens: false });
    // A normalizer may write a token that the text did not contain.
    return ids.filter((id) => !this.#reserved.has(id));
  }
}
