import type { Page } from 'playwright';

/** The reply of a model that has just been added: its load is part of the wait. */
export const askAddedModel = (page: Page, key: string, model: string): Promise<string | null | undefined> =>
  page.evaluate(
    async ([apiKey = '', id = '']) => {
      const { choices } = await window.client(apiKey, { timeout: 240_000 }).chat.completions.create({
        model: id,
        messages: [{ role: 'user', content: 'What is the capital of France?' }],
        max_tokens: 8,
        temperature: 0,
      });
      return choices[0]?.message.content;
    },
    [key, model],
  );
