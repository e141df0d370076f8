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
function judge({ status, code, fault, ms, path }: Outcome): string | null {
  if (ms >= MAX_MS) return `took ${Math.round(ms)} ms`;
  if (fault !== null) return fault;
  // The site's own server answers the rest.
  if (!/^\/(v1|localtext)\b/.test(path)) return null;
  if (status >= 500 && !ENGINE_CODES.has(code ?? '')) return `status ${status}, code ${code}`;
  return FAULT_CODES.has(code ?? '') ? `code ${code}` : null;
}

/** Prints what came. @returns how often each status came, and a line for each outcome that is not as it should be */
export function review(name: string, seed: number, outcomes: readonly Outcome[]) {
  const statuses: Record<number, number> = {};
  for (const { status } of outcomes) statuses[status] = (statuses[status] ?? 0) + 1;
  const slowest = outcomes
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, 5)
    .map(({ index, kind, status, ms }) => `${index} ${kind}: ${status} after ${Math.round(ms)} ms`);
  console.log(
    `${name}, seed ${seed}: ${outcomes.length}, ${JSON.stringify(statuses)}; slowest: ${slowest.join(', ')}`,
  );
  const faults = outcomes.flatMap((outcome) => {
    const why = judge(outcome);
    const { index, kind, method, path } = outcome;
    return why === null ? [] : [`--seed ${seed} --only ${index}: ${kind}, ${method} ${path}: ${why}`];
  });
  return { statuses, faults };
}
