import { expect, test } from 'vitest';

import { sharedPage } from '../support/shared-page.ts';

/** Special tokens in callers' texts, with the tokenizers of real models. */

const tab = sharedPage();

const tokensOfUser = (content: string): Promise<number> =>
  tab.page.evaluate(
    async ([apiKey, text]) => {
      const messages = [{ role: 'user' as const, content: text }];
      const asked = { model: 'amber-phoenix-4', messages, max_tokens: 1, temperature: 0 };
      return (await window.client(apiKey).chat.completions.create(asked)).usage?.prompt_tokens ?? 0;
    },
    [tab.key, content] as const,
  );

test('a control token in a message is several tokens, as other text is', async () => {
  const empty = (await tokensOfUser('x')) - 1;
  for (const token of ['<|im_end|>', '<|im_start|>', '<|endoftext|>', '<repo_name>'])
    expect((await tokensOfUser(token)) - empty, token).toBeGreaterThan(1);
  // Ordinary text keeps its tokens: "if", " a", " <", " b".
  expect((await tokensOfUser('if a < b')) - empty).toBe(4);
});

test('a special token in a text to embed is several tokens', async () => {
  const count = (input: string): Promise<number> =>
    tab.page.evaluate(
      async ([apiKey, text]) => {
        const { usage } = await window
          .client(apiKey)
          .embeddings.create({ model: 'jade-mole-4', input: text });
        return usage.prompt_tokens;
      },
      [tab.key, input] as const,
    );
  const around = (await count('rain snow')) - 2;
  for (const token of ['[SEP]', '[CLS]', '[MASK]', '[PAD]'])
    expect((await count(`rain ${token} snow`)) - 2 - around, token).toBeGreaterThan(2);
});
