import { writeFile } from 'node:fs/promises';

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import OpenAI from 'openai';
import { transformWithOxc } from 'vite';
import { expect, test } from 'vitest';
import { FakeEngine } from '../support/fake-engine.ts';
import { fakeService } from '../support/fake-service.ts';
import { readSamples } from '../support/read-samples.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { clientOf } from '../support/openai-client.ts';

type Chat = OpenAI.ChatCompletionCreateParamsNonStreaming;
type Shorten = (client: OpenAI, chat: Chat, replyTokens?: number) => Promise<Chat>;

/** The documentation's own helper, as it is printed. */
async function readShorten(): Promise<Shorten> {
  const sample = (await readSamples()).find(({ code }) => code.includes('function shorten'));
  const folder = await tempFolder('shorten');
  const file = join(folder, 'shorten.mjs');
  const { code } = await transformWithOxc(sample?.code ?? '', 'shorten.ts');
  await writeFile(file, code);
  return ((await import(pathToFileURL(file).href)) as { shorten: Shorten }).shorten;
}

test('the documentation’s helper drops the oldest turns of a chat until it fits', async () => {
  const shorten = await readShorten();
  // A hundred tokens for each message.
  const engine = new FakeEngine(({ input }) => ({
    promptTokens: 'messages' in input ? input.messages.length * 100 : 0,
  }));
  const client = clientOf(await fakeService({ engine }));
  const turn = (index: number) => [
    { role: 'user' as const, content: `question ${index}` },
    { role: 'assistant' as const, content: `answer ${index}` },
  ];
  const system = { role: 'system' as const, content: 'Be brief.' };
  const messages = [system, ...turn(1), ...turn(2), ...turn(3), { role: 'user' as const, content: 'last' }];
  const chat = { model: 'amber-phoenix-4', messages };
  const short = await shorten(client, chat, 4096 - 450);
  expect(short.messages).toEqual([system, ...turn(3), messages.at(-1)]);
  await expect(shorten(client, chat, 4096 - 150)).rejects.toThrow('The last turn alone');
});
