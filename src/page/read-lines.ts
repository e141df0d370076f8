import type { LoadLine } from '../protocol/local-paths.ts';
import { fromWire, toError } from './fetch-local.ts';

/**
 * Reads the lines of an answer to its end.
 * @throws LocaltextError for an `error` line, or an answer that is an error; TypeError when the connection breaks
 */
export async function readLines(response: Response, onLine: (line: LoadLine) => void): Promise<void> {
  if (!response.ok || !response.body) throw await toError(response);
  // Chromium shows a service worker's answer that only a reader has drained as cancelled. One that is read whole is not.
  void response
    .clone()
    .text()
    .catch(() => undefined);
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await lines.read();
    if (done) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = JSON.parse(part) as LoadLine;
      if (line.type === 'error') throw fromWire(line.error);
      onLine(line);
    }
  }
}
