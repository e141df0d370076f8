import { growthRow } from '../growth.ts';
import type { Row } from '../row.ts';
import { CHAT_MODEL, engineThreads, openai } from './engines.ts';

const SIZES = [1, 4, 16, 64];

/** Chats of one token, all at once. */
export async function inFlight(rounds: number): Promise<Row> {
  const client = await openai();
  await engineThreads();
  const ask = (content: string) =>
    client.chat.completions.create({
      model: CHAT_MODEL,
      max_tokens: 1,
      messages: [{ role: 'user', content }],
    });
  await ask('0?');
  const points = SIZES.map((x) => ({ x, values: [] as number[] }));
  for (let round = 0; round < rounds; round++)
    for (const { x, values } of points) {
      const began = performance.now();
      await Promise.all(Array.from({ length: x }, (_, i) => ask(`${i}+${x}?`)));
      values.push(performance.now() - began);
    }
  return growthRow('growth: requests in flight, 1 to 64', points);
}
