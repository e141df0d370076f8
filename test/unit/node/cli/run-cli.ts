import { vi } from 'vitest';

/** Runs the command line in this process. */
export async function localtext(...args: string[]) {
  const said = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const complained = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const { argv, exitCode } = process;
  process.argv = [...argv.slice(0, 2), ...args];
  try {
    vi.resetModules();
    await import('../../../../src/node/cli/cli.ts');
    const text = (mock: typeof said): string => mock.mock.calls.flat().join('\n');
    return { status: process.exitCode, output: text(said), errors: text(complained) };
  } finally {
    process.argv = argv;
    process.exitCode = exitCode;
    vi.restoreAllMocks();
  }
}
