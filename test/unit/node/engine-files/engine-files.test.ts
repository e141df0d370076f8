import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.doUnmock('../../../../src/node/engine-files/llama-wasm.ts');
  vi.resetModules();
});

test('kernels that cannot be linked end a build: a package never has the slow file', async () => {
  vi.resetModules();
  vi.doMock('../../../../src/node/engine-files/llama-wasm.ts', async (original) => ({
    ...(await original<object>()),
    linkLlama: () => {
      throw new Error('no function mul_mat.');
    },
  }));
  const { engineFiles } = await import('../../../../src/node/engine-files/engine-files.ts');
  // The command line prints one without a stack.
  await expect(engineFiles()).rejects.toMatchObject({
    name: 'CommandError',
    message:
      'The fast kernels do not fit the installed @wllama/wllama (default): Error: no function mul_mat. Install the version in package-lock.json: npm ci.',
  });
});
