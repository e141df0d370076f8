/** A command could not do its work. Shown as it is, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
