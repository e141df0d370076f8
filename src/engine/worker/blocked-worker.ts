import { blockedMessage } from '../../protocol/policy-violations.ts';
import { type EngineError, serverError } from '../../protocol/engine-error.ts';

/** @param directive of the Content-Security-Policy that refuses the script as a worker */
export function workerBlocked(script: string, directive: string, cause?: unknown): EngineError {
  return serverError('worker_blocked', blockedMessage(script, directive), cause);
}
