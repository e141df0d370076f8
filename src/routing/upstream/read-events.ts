import { cutShort } from './upstream-failures.ts';

/** The objects of an OpenAI stream, up to `[DONE]`. @throws UpstreamError for an error event, or what is no JSON */
export async function* readEvents<Chunk>(response: Response, onBytes: () => void): AsyncGenerator<Chunk> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    onBytes();
    const lines = (rest + decoder.decode(value, { stream: !done })).split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const data = line.slice(5).trim();
      if (data === '[DONE]') return;
      const chunk = JSON.parse(data) as Chunk & { error?: unknown };
      if (chunk.error) throw cutShort();
      yield chunk as Awaited<Chunk>;
    }
    if (done) return;
  }
}
