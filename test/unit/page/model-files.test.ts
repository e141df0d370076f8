import { expect, test, vi } from 'vitest';

import { exportedFiles } from '../../../src/page/model-files.ts';
import type { ModelDescription } from '../../../src/protocol/weights-messages.ts';

const description = { files: [{ path: 'owl/model.gguf', bytes: 3 }] } as ModelDescription;

const opened = (answer: Response): Promise<Response> | undefined => {
  vi.stubGlobal('fetch', async (url: URL) => {
    expect(url.href).toBe('https://example.com/app/models/owl/model.gguf');
    return answer;
  });
  return exportedFiles(description, 'https://example.com/app/')[1]?.open();
};

test.each([
  ['an error', new Response('{}', { status: 404 })],
  ['a page', new Response('<p>Sign in.', { headers: { 'content-type': 'text/html; charset=utf-8' } })],
])('%s in the place of a stored file is refused, and not given out as the file', async (_what, answer) => {
  await expect(opened(answer)).rejects.toMatchObject({
    code: 'weights_missing',
    message: expect.stringContaining('owl/model.gguf'),
  });
});

test('a stored file is given out as it is', async () => {
  const answer = new Response('abc', { headers: { 'content-type': 'application/octet-stream' } });
  expect(await opened(answer)).toBe(answer);
});
