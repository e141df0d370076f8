/** Says what was tried, and what the reader can do. Shown as it is, without a stack. */
export class PullError extends Error {
  override readonly name = 'PullError';
}
