import { generateThroughV1, type Messages, timed } from './engines.ts';
import { loadRawChat, rawWeights } from './raw-chat.ts';

const messages: Messages = [{ role: 'user', content: 'Name a colour.' }];

/** Milliseconds from a Blob to the first token of a raw engine, which is then ended. */
export async function warmStartRaw(threads: number): Promise<number> {
  await rawWeights();
  const { firstTokenMs } = await timed(async (onDelta) => {
    const wllama = await loadRawChat('ours', threads);
    const onData = ({ choices }: { choices: { delta: { content?: string | null } }[] }): void =>
      onDelta(choices[0]?.delta.content ?? '');
    await wllama.createChatCompletion({ messages, max_tokens: 1, temperature: 0, stream: true, onData });
    await wllama.exit();
    return 1;
  });
  return firstTokenMs;
}

/** Start of a request in milliseconds since 1970, and its time to the first token, with weights stored. */
export async function warmStartOurs(): Promise<{ began: number; firstTokenMs: number }> {
  const began = performance.timeOrigin + performance.now();
  const { firstTokenMs } = await generateThroughV1(messages, 1);
  return { began, firstTokenMs };
}
