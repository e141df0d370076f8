import { CHAT_MODEL, openai } from './engines.ts';
import { loadRawChat, rawWeights } from './raw-chat.ts';

const messages = [{ role: 'user' as const, content: 'Name a colour.' }];

/** From a Blob to the first token, in milliseconds; then it is ended. */
export async function warmStartRaw(threads: number): Promise<number> {
  await rawWeights();
  const began = performance.now();
  const wllama = await loadRawChat('ours', threads);
  let first = 0;
  await wllama.createChatCompletion({
    messages,
    max_tokens: 1,
    temperature: 0,
    stream: true,
    onData(chunk) {
      if (chunk.choices[0]?.delta.content) first ||= performance.now();
    },
  });
  await wllama.exit();
  return first - began;
}

/** When it was asked for, in milliseconds since 1970, and the time from then, with weights stored, to the first token. */
export async function warmStartOurs(): Promise<{ began: number; firstTokenMs: number }> {
  const client = await openai();
  const began = performance.now();
  const stream = await client.chat.completions.create({
    model: CHAT_MODEL,
    messages,
    max_tokens: 1,
    temperature: 0,
    stream: true,
  });
  let first = 0;
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) first ||= performance.now();
  return { began: performance.timeOrigin + began, firstTokenMs: first - began };
}
