/** The server could not be started. Shown as it is, without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
