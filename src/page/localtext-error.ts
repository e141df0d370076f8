export type LocaltextErrorCode =
  | 'insecure_context'
  | 'browser_unsupported'
  | 'storage_unavailable'
  | 'cache_unavailable'
  | 'service_worker_unavailable'
  | 'service_worker_blocked'
  | 'service_worker_not_found'
  | 'service_worker_mime_type'
  | 'service_worker_failed'
  | 'service_worker_no_control'
  | 'worker_blocked'
  | 'requests_running'
  | 'protocol_mismatch'
  | 'stopped'
  | 'storage_full'
  /** What the engine or the service says: `engine_unavailable`, `weights_unavailable` … */
  | (string & {});

/** What the page library rejects with: `message` says what was wrong and what to do, `code` is for programs. */
export class LocaltextError extends Error {
  override readonly name = 'LocaltextError';
  readonly code: LocaltextErrorCode;

  constructor(code: LocaltextErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
