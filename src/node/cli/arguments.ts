import { parseArgs, type ParseArgsConfig } from 'node:util';
import { messageOf } from '../../util/printable.ts';

/** A command could not do its work. Shown as it is, without a stack. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** A file is not available from one of its sources. Says what was tried, and what the reader can do. */
export class PullError extends CommandError {
  override readonly name = 'PullError';
}

/** The command line was not understood. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `parseArgs`, with its errors as a UsageError. */
export function parseFlags<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** @throws UsageError unless it is a whole number from 1 to 65535. */
export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535)
    throw new UsageError(`--port takes a number from 1 to 65535, not "${text}".`);
  return port;
}
