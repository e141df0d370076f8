import { expect, test, vi } from 'vitest';

import { loadWllama } from '../../../../src/engines/wllama/load-wllama.ts';
import type { EngineContext } from '../../../../src/engine-kit/engine.ts';

test('a failed download ends a load at once, although the check of the GPU hangs', async () => {
  vi.stubGlobal('navigator', { gpu: { requestAdapter: () => new Promise(() => undefined) } });
  vi.spyOn(WebAssembly, 'validate').mockReturnValue(true);
  const context = {
    signal: new AbortController().signal,
    wasm: (name: string) => `https://app.example/${name}`,
    file: async () => {
      throw new Error('cancelled');
    },
    onProgress: () => undefined,
  } as unknown as EngineContext;
  const files = [{ path: 'a.gguf', url: 'https://app.example/a.gguf', size: 1, sha256: '' }];
  const variant = { name: 'a', engine: 'wllama' as const, files, contextLength: 512 };
  await expect(loadWllama(variant as never, context)).rejects.toThrow('cancelled');
});
