import { parseArgs, type ParseArgsConfig } from 'node:util';
import { messageOf } from '#base';

/** Error of a failed command. Printed as it is, without a stack. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** Error for a file that no source provides. Its message says what was tried and what the user can do. */
export class PullError extends CommandError {
  override readonly name = 'PullError';
}

/** Error for an invalid command line. */
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

/** @throws CommandError, without a password, unless it is a URL that can be fetched */
export function webUrl(address: string, base: string | undefined, advice: string): URL {
  const url = URL.canParse(address, base) ? new URL(address, base) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new CommandError(`"${address.replace(/^.*@/, '…@')}" is not a URL. ${advice}`);
  if (url.username === '' && url.password === '') return url;
  const message = `The URL of ${url.host} has a user name or a password. Leave them out: none is sent.`;
  throw new CommandError(message);
}
