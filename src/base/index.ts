export {
  Channel,
  Mutex,
  abortable,
  backoff,
  createDeferred,
  delay,
  shared,
  untilFailure,
  withTimeout,
  type Deferred,
} from './async.ts';
export {
  ContextLengthError,
  buildReplaced,
  contextLengthExceeded,
  corruptFile,
  deviceLost,
  engineCrashed,
  engineLost,
  isContextLengthError,
  toWireError,
} from './errors/engine-errors.ts';
export type { ErrorCode } from './errors/error-codes.ts';
export {
  ServiceError,
  asServiceError,
  conflicting,
  invalidField,
  protocolMismatch,
  rateLimited,
  requestError,
  serverError,
  storageUnavailable,
  unsupported,
} from './errors/service-error.ts';
export type { WireError } from './errors/wire-error.ts';
export {
  copyJson,
  entriesOf,
  fromEntries,
  isNumber,
  isObject,
  readJson,
  restoreExact,
  writeJson,
  ExactNumber,
  type Places,
} from './exact-json.ts';
export { describe, shortened } from './describe.ts';
export { literal } from './gbnf.ts';
export { MAX_KEY, findExcess } from './json-bounds.ts';
export { valueAt } from './value-at.ts';
export { parseJson } from './parse-json.ts';
export { messageOf, printable } from './printable.ts';
export { readStream } from './read-stream.ts';
export {
  IdleTimeout,
  IdleTimeoutError,
  NotResumableError,
  TransientStatusError,
  UNREACHABLE,
  UnreachableError,
  isTransient,
  reach,
  withRetries,
} from './retry.ts';
export { sha256 } from './sha256.ts';
export type { NetworkFirst, SiteFile } from './site-file.ts';
export { TokenTexts } from './token-texts.ts';
export { decoded, isV1Path } from './url-path.ts';
export { showSpan, type Span, type SpanDetail } from './user-timing.ts';
export type { z } from './zod.ts';
