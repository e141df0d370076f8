import { blockedMessage, onBlockedWorker } from '../../protocol/policy-violations.ts';
import { type EngineError, serverError } from '../../protocol/engine-error.ts';

/** @param directive of the Content-Security-Policy that refuses the script as a worker */
export function workerBlocked(script: string, directive: string, cause?: unknown): EngineError {
  return serverError('worker_blocked', blockedMessage(script, directive), cause);
}

/**
 * Rejects when this worker's own Content-Security-Policy refuses a nested worker: Emscripten waits for its threads
 * without a time limit. Never settles otherwise.
 */
export function whenThreadBlocked(script: string, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    onBlockedWorker((directive) => reject(workerBlocked(script, directive)), signal);
  });
}
