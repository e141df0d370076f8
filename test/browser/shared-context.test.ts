import { expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { openPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';
import { send } from '../support/send.ts';
import { launchWithWeights } from '../support/stored-weights.ts';

const CONTEXT = 2048;

test('replies with a required tool that fill the shared context together are all given', async () => {
  const { catalog, serve } = await smallChat(CONTEXT);
  const site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  const context = await launchWithWeights({ servedBy: site.url });
  const { page, key } = await openPage(context, inject('siteUrl'), { catalog });
  const words = { type: 'array', items: { enum: ['sea', 'land'] }, minItems: 18, maxItems: 18 };
  const parameters = { type: 'object', properties: { words }, required: ['words'] };
  interface Reply {
    choices: { message: { tool_calls: { function: { arguments: string } }[] } }[];
    usage: { total_tokens: number };
  }
  const replies = await Promise.all(
    [1, 2, 3, 4].map((question) =>
      send<Reply>(page, key, '/v1/chat/completions', {
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content: `${question}: ${'the sea is wide and deep, '.repeat(64)}` }],
        tools: [{ type: 'function', function: { name: 'answer', parameters } }],
        tool_choice: 'required',
        parallel_tool_calls: false,
      }),
    ),
  );
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const { body } of replies) {
    const call = body.choices[0]?.message.tool_calls[0]?.function.arguments ?? '';
    expect((JSON.parse(call) as { words: string[] }).words).toHaveLength(18);
  }
  // Each has room for itself alone.
  expect(replies.reduce((sum, { body }) => sum + body.usage.total_tokens, 0)).toBeGreaterThan(CONTEXT);
});
