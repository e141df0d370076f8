import type { BrowserContext } from 'playwright';

/** A User Timing measure as the browser's profiler has it: milliseconds on the one clock of all threads. */
export interface TracedSpan {
  name: string;
  start: number;
  end: number;
  detail: unknown;
}

interface TraceEvent {
  name: string;
  /** `b` and `e` begin and end a measure. */
  ph: string;
  /** Microseconds. */
  ts: number;
  pid: number;
  tid: number;
  id2: { local: string };
  args: { detail?: string };
}

/** What the profiler has recorded of localtext meanwhile, in all threads of all processes. */
export async function recordSpans(
  context: BrowserContext,
  during: () => Promise<void>,
): Promise<TracedSpan[]> {
  const browser = context.browser();
  if (!browser) throw new Error('only a browser can be traced');
  const session = await browser.newBrowserCDPSession();
  try {
    const events: TraceEvent[] = [];
    session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
    const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
    await session.send('Tracing.start', {
      transferMode: 'ReportEvents',
      traceConfig: { includedCategories: ['blink.user_timing'], excludedCategories: ['*'] },
    });
    await during();
    await session.send('Tracing.end');
    await complete;
    return pair(events.filter(({ name }) => name.startsWith('localtext ')));
  } finally {
    await session.detach();
  }
}

/** Threads of one process count their ids each for itself. */
const keyOf = ({ name, pid, tid, id2 }: TraceEvent): string => `${name} ${pid} ${tid} ${id2.local}`;

function pair(events: TraceEvent[]): TracedSpan[] {
  const ends = new Map(events.filter(({ ph }) => ph === 'e').map((event) => [keyOf(event), event]));
  return events
    .filter(({ ph }) => ph === 'b')
    .map((begin) => {
      const end = ends.get(keyOf(begin));
      if (!end) throw new Error(`${begin.name} has no end`);
      const detail: unknown = JSON.parse(begin.args.detail ?? 'null');
      return { name: begin.name, start: begin.ts / 1000, end: end.ts / 1000, detail };
    });
}
