import type OpenAI from 'openai';

import { CHAT_MODEL, EMBEDDING_MODEL, localtext, type Messages, openai, story } from './engines.ts';

/** Tokens a second of one chat: alone, and while a second model is loaded from the storage. */
export async function besideLoad(): Promise<{ alone: number; beside: number; loadMs: number }> {
  const handle = await localtext();
  await handle.ready(CHAT_MODEL);
  const client = await openai();
  await arrivals(client, 8);
  const alone = await arrivals(client, 64);
  const load = { from: 0, to: 0 };
  let loading: Promise<void> = Promise.resolve();
  const during = await arrivals(client, 160, story, (count) => {
    if (count !== 8) return;
    load.from = performance.now();
    loading = handle.ready(EMBEDDING_MODEL).then(() => void (load.to = performance.now()));
  });
  await loading;
  return {
    alone: perSecond(alone),
    beside: perSecond(during.filter((at) => at >= load.from && at <= load.to)),
    loadMs: load.to - load.from,
  };
}

const perSecond = (times: number[]): number =>
  ((times.length - 1) * 1000) / ((times.at(-1) ?? 0) - (times[0] ?? 0));

/** Times at which the tokens of a reply came. */
export async function arrivals(
  client: OpenAI,
  tokens: number,
  messages: Messages = story,
  onToken?: (count: number) => void,
): Promise<number[]> {
  const stream = await client.chat.completions.create({
    model: CHAT_MODEL,
    messages,
    max_tokens: tokens,
    temperature: 0,
    stream: true,
  });
  const times: number[] = [];
  for await (const chunk of stream) {
    if (!chunk.choices[0]?.delta.content) continue;
    times.push(performance.now());
    onToken?.(times.length);
  }
  return times;
}
