import { afterEach, expect, test, vi } from 'vitest';

import { AddedModels } from '../../../src/page/added-models-handle.ts';

afterEach(() => vi.unstubAllGlobals());

/** The service worker does not answer: only an abort ends a request. */
const silent = (_url: string, { signal }: RequestInit): Promise<Response> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error));
  });

const source = { url: 'https://example.com/owl.gguf', sha256: 'a' };

test.each([
  ['offers()', (models: AddedModels, signal: AbortSignal) => models.offers('owner/name', { signal })],
  ['inspect()', (models: AddedModels, signal: AbortSignal) => models.inspect(source, { signal })],
  ['add()', (models: AddedModels, signal: AbortSignal) => models.add(source, { signal })],
])('%s ends at its signal, and when the page leaves', async (_name, call) => {
  vi.stubGlobal('document', { baseURI: 'https://example.com/' });
  const fetched = vi.fn(silent);
  vi.stubGlobal('fetch', fetched);
  for (const which of ['given', 'stopped'] as const) {
    const ends = { given: new AbortController(), stopped: new AbortController() };
    const result = call(new AddedModels('/', ends.stopped.signal), ends.given.signal);
    fetched.mockClear();
    await vi.waitFor(() => expect(fetched).toHaveBeenCalledOnce());
    const reason = new Error(which);
    ends[which].abort(reason);
    await expect(result).rejects.toBe(reason);
  }
});
