import type { Page } from 'playwright';

import { ask } from './ask-page.ts';

/** The reply of a model that has just been added: its load is part of the wait. */
export async function askAddedModel(page: Page, key: string, model: string) {
  const { choices } = await ask(page, key, model, 'What is the capital of France?', { max_tokens: 8 });
  return choices[0]?.message.content;
}
