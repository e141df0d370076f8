import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/** Whether somebody can answer. */
export const isInteractive = (): boolean => process.stdin.isTTY && process.stderr.isTTY && !process.env['CI'];

/** A question with `[Y/n]`: Enter accepts. */
export async function ask(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // The end of the input is no answer: nothing is downloaded.
  const ended = once(terminal, 'close').then(() => 'n');
  try {
    return !/^\s*n/i.test(await Promise.race([terminal.question(question, { signal }), ended]));
  } finally {
    terminal.close();
  }
}
