import type { ErrorCode } from './error-codes.ts';

/** An error as plain data: it survives `postMessage`, and is everything that a client sees. */
export interface WireError {
  status: number;
  type: 'invalid_request_error' | 'rate_limit_error' | 'server_error';
  code: ErrorCode | null;
  /** The request field at fault, in the client's own notation (`messages[1].role`). */
  param: string | null;
  /** Message: what was wrong, what is allowed, what to do next. Never engine internals, paths or keys. */
  message: string;
  /** Time until a retry may succeed after a 429, in milliseconds. */
  retryAfterMs?: number;
  /** Whether the device's queue is full: a further job of a running request waits for a place. */
  isQueueFull?: true;
  /** Whether another variant of the model may answer in the same call: nothing was sent. */
  passOn?: boolean;
}
