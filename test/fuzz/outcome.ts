export interface Outcome {
  index: number;
  kind: string;
  method: string;
  path: string;
  /** 0: no answer came. */
  status: number;
  /** Code of the error, also of one in a stream. */
  code: string | null;
  /** Why there is no whole answer. */
  fault: string | null;
  ms: number;
}

/** What a device may run into whatever is asked of it. */
const ENGINE_CODES = new Set([
  'out_of_memory',
  'device_lost',
  'engine_lost',
  'storage_full',
  'weights_unavailable',
]);
/** Told only of faults inside, also where the status has gone out. */
const FAULT_CODES = new Set(['internal_error', 'engine_failed', 'engine_crashed', 'engine_unavailable']);
const MAX_MS = 60_000;

/** Null: as it should be. */
export function judge({ status, code, fault, ms, path }: Outcome): string | null {
  if (ms >= MAX_MS) return `took ${Math.round(ms)} ms`;
  if (fault !== null) return fault;
  // The site's own server answers the rest.
  if (!/^\/(v1|localtext)\b/.test(path)) return null;
  if (status >= 500 && !ENGINE_CODES.has(code ?? '')) return `status ${status}, code ${code}`;
  return FAULT_CODES.has(code ?? '') ? `code ${code}` : null;
}

/**
 * How long requests of another tab may take at most beside hostile ones, in milliseconds. `npm run test:fuzz`, which runs
 * alone, sets a second.
 */
export const MAX_WAIT_MS = Number(process.env['LOCALTEXT_FUZZ_MAX_WAIT_MS'] ?? 5000);

export function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
