import { PassThrough } from 'node:stream';

const { stdin, stderr } = process;

function setTerminal(input: unknown, output: unknown): void {
  Object.defineProperty(process, 'stdin', { value: input, configurable: true });
  Object.defineProperty(process, 'stderr', { value: output, configurable: true });
}

/** A terminal on which `answer` is typed when a question is asked. */
export function fakeTerminal(answer: string, onText: (text: string) => void): void {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true });
  output.on('data', (data) => {
    onText(String(data));
    if (String(data).includes('[Y/n]') && !input.writableEnded) input.end(answer);
  });
  setTerminal(input, output);
}

export const realTerminal = (): void => setTerminal(stdin, stderr);
