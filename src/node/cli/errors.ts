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
