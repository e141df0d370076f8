import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, describe, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { scriptedGguf } from '../support/scripted-gguf.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { send } from '../support/send.ts';
import { addGguf } from '../support/add-gguf.ts';

/** Models whose thoughts are between control tokens, which llama.cpp's server writes only where it is told to. */

const models = {
  brackets: scriptedGguf({
    template: "{% for m in messages %}{{ m.content }}{% endfor %}{{ '[/INST]' }}{# [/THINK] #}",
    prompt: 'Hi[/INST]',
    control: ['[THINK]', '[/THINK]', '[/INST]'],
    reply: ['[THINK]', 'I ', 'add.', '[/THINK]', 'Fo', 'ur.'],
  }),
};

let folder: string;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  folder = await tempFolder('thought-tokens');
  context = await launch();
  ({ page, key } = await openPage(context, inject('siteUrl'), '/clients-page.html'));
  for (const [id, bytes] of Object.entries(models)) {
    const file = join(folder, `${id}.gguf`);
    await writeFile(file, bytes);
    await addGguf(page, file, id);
  }
});

const messages = [{ role: 'user', content: 'Hi' }];

describe.each(['brackets'])('thoughts of the model %s', (model) => {
  test('are reasoning_content, and the answer is the content', async () => {
    const { body } = await send(page, key, '/v1/chat/completions', { model, messages, temperature: 0 });
    expect(body).toMatchObject({
      choices: [{ message: { reasoning_content: 'I add.', content: 'Four.' }, finish_reason: 'stop' }],
    });
  });

  test('are streamed before the answer', async () => {
    const { choices } = await page.evaluate(
      ([apiKey, id]) =>
        window.clients.openai.thoughts(apiKey, id, { messages: [{ role: 'user', content: 'Hi' }] }),
      [key, model] as const,
    );
    expect(choices[0]).toEqual({
      reasoning: 'I add.',
      text: 'Four.',
      order: ['reasoning', 'text'],
      finish: 'stop',
    });
  });
});
