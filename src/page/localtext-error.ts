import type { ErrorCode, WireError } from '#base';

/** Error of the page library: `message` says what was wrong and what to do, `code` is for programs. */
export class LocaltextError extends Error {
  override readonly name = 'LocaltextError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export const fromWire = ({ code, message }: WireError): LocaltextError =>
  new LocaltextError(code ?? 'server_error', message);
