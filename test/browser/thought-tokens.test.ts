import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { scriptedGguf } from '../support/scripted-gguf.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { send } from '../support/send.ts';
import { addGguf } from '../support/add-gguf.ts';
import { streamThoughts } from '../support/stream-thoughts.ts';

/** Models whose thoughts are between control tokens, which llama.cpp's server writes only where it is told to. */

const MODEL = 'brackets';
const gguf = scriptedGguf({
  template: "{% for m in messages %}{{ m.content }}{% endfor %}{{ '[/INST]' }}{# [/THINK] #}",
  prompt: 'Hi[/INST]',
  control: ['[THINK]', '[/THINK]', '[/INST]'],
  reply: ['[THINK]', 'I ', 'add.', '[/THINK]', 'Fo', 'ur.'],
});

test('thoughts between control tokens are reasoning_content, streamed before the answer', async () => {
  const file = join(await tempFolder('thought-tokens'), 'thinker.gguf');
  await writeFile(file, gguf);
  const { page, key } = await openPage(await launch(), inject('siteUrl'));
  await addGguf(page, file, MODEL);
  const messages = [{ role: 'user', content: 'Hi' }];
  const { body } = await send(page, key, '/v1/chat/completions', { model: MODEL, messages, temperature: 0 });
  expect(body).toMatchObject({
    choices: [{ message: { reasoning_content: 'I add.', content: 'Four.' }, finish_reason: 'stop' }],
  });
  const asked = { key, model: MODEL, more: { messages } };
  const { choices } = await page.evaluate(streamThoughts, asked);
  expect(choices[0]).toEqual({
    reasoning: 'I add.',
    text: 'Four.',
    order: ['reasoning', 'text'],
    finish: 'stop',
  });
});
