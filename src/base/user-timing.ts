/** Bars in the browser's profiler. The service measures `request` and those that begin with `until`. */
export type Span =
  'queue' | 'prefill' | 'decode' | 'compute' | 'load' | 'request' | 'until accepted' | 'until first token';

/** Details of a bar. */
export interface SpanDetail {
  /** Value of `x-request-id`; in the engine, the job's id. */
  requestId?: string;
  model: string;
}

/**
 * Shows a stage that is over as a User Timing measure, which DevTools puts on a track of ours. Profilers and
 * observers receive it at once. It then leaves the timeline, which has no bound: workers live for days.
 * @param ms how long it took, in milliseconds
 * @param end when it ended, by `performance.now()` of this thread; default: now
 */
export function showSpan(span: Span, ms: number, detail: SpanDetail, end = performance.now()): void {
  const name = `localtext ${span}`;
  performance.measure(name, {
    start: clampTime(end - ms),
    end: clampTime(end),
    // https://developer.chrome.com/docs/devtools/performance/extension
    detail: { ...detail, devtools: { track: 'localtext', properties: Object.entries(detail) } },
  });
  performance.clearMeasures(name);
}

/**
 * Clamps a time. A clock that was set meanwhile may lead to times before the thread's own, which would throw:
 * no request fails for that.
 */
const clampTime = (time: number): number => Math.max(0, time) || 0;
