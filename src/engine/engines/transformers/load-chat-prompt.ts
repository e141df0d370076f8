import type { PreTrainedTokenizer } from '@huggingface/transformers';

import type { OnnxVariant } from '../../../catalog/catalog.ts';
import type { EngineContext } from '../../engine.ts';
import { ChatPrompt } from '../chat-prompt.ts';
import { corrupt, folderOf } from './transformers-files.ts';

const TEMPLATE = 'chat_template.jinja';

/** The model's own template: newer models have it in a file, older ones in their tokenizer's configuration. */
export async function loadChatPrompt(
  tokenizer: PreTrainedTokenizer,
  variant: OnnxVariant,
  context: EngineContext,
): Promise<ChatPrompt> {
  const folder = folderOf(variant);
  const listed = variant.files.some(({ path }) => path === folder + TEMPLATE);
  const tokens = { bos: tokenizer.bos_token, eos: tokenizer.eos_token };
  try {
    const source = listed ? await (await context.file(folder + TEMPLATE)).text() : own(tokenizer);
    return new ChatPrompt(source, tokens, false);
  } catch (error) {
    context.signal.throwIfAborted();
    const path = folder + (listed ? TEMPLATE : 'tokenizer_config.json');
    throw corrupt(path, 'has a chat template that cannot be read', error);
  }
}

function own(tokenizer: PreTrainedTokenizer): string | null {
  return tokenizer.chat_template ? tokenizer.get_chat_template() : null;
}
