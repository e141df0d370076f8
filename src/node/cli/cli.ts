#!/usr/bin/env node
import { readFileSync } from 'node:fs';

import { CommandError, UsageError } from './arguments.ts';
import { complain, print } from './output.ts';
import { describeFileError } from '../files.ts';
import { packageFile } from '../package-files.ts';

interface Command {
  help: string;
  run(args: string[], signal: AbortSignal): Promise<number | void>;
}

const commands: Record<string, { summary: string; load(): Promise<Command> }> = {
  pull: { summary: 'download the weights of the models', load: async () => import('./pull-command.ts') },
  init: {
    summary: 'copy the built files into the folder of a site without a bundler',
    load: async () => import('./init-command.ts'),
  },
  doctor: {
    summary: 'check a deployed site and suggest fixes',
    load: async () => import('./doctor-command.ts'),
  },
  start: {
    summary: 'download the weights, build the site and serve it',
    load: async () => import('./start-command.ts'),
  },
};

const usage = [
  'Usage: localtext <command> [options]',
  '',
  ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(8)}${summary}`),
  '',
  'localtext <command> --help shows the options; localtext --version prints the version.',
].join('\n');

async function main(): Promise<number> {
  const [name = '--help', ...args] = process.argv.slice(2);
  if (name === '--help' || name === '-h') {
    print(usage);
    return 0;
  }
  if (name === '--version' || name === '-v') {
    print(version());
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    complain(`There is no command "${name}".\n\n${usage}`);
    return 2;
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
  try {
    const { help, run } = await command.load();
    if (!args.includes('--help') && !args.includes('-h')) return (await run(args, interrupt.signal)) ?? 0;
    print(help);
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) return 130;
    return report(error, name);
  }
}

/** Prints an error that the user can fix. @returns the exit status. @throws any other error */
function report(error: unknown, name: string): number {
  if (error instanceof UsageError) {
    complain(`${error.message}\nRun localtext ${name} --help for the options.`);
    return 2;
  }
  const message = error instanceof CommandError ? error.message : describeFileError(error);
  if (message === null) throw error;
  complain(message);
  return 1;
}

const version = (): string =>
  (JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { version: string }).version;

process.exitCode = await main();
