import { CHAT_MODEL, openai } from './engines.ts';
import { loadRawChat, rawWeights } from './raw-chat.ts';

const messages = [{ role: 'user' as const, content: 'Name a colour.' }];

/** Milliseconds from a Blob to the first token of a raw engine, which is then ended. */
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

/** Start of a request in milliseconds since 1970, and its time to the first token, with weights stored. */
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
