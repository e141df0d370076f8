import { findExcess, FIRST_FAULT, type z } from '#base';
import { takeTurn } from '#browser';
import { brokeBound, cutShort, misshapen, without } from './upstream-failures.ts';

/** Maximum computation before yielding to other requests: buffered data would be read without a pause. */
const MAX_SLICE_MS = 8;

/**
 * Milliseconds for which a request computes before it lets others compute. All requests wait in one line.
 * Otherwise each step of a short request waits for a slice of every other request.
 */
export class TimeSlice {
  #began = performance.now();

  async yieldWhenOver(): Promise<void> {
    if (performance.now() - this.#began < MAX_SLICE_MS) return;
    await takeTurn();
    this.#began = performance.now();
  }
}

/** Maximum total time of a server for one answer. Time spent by the reader does not count. */
const MAX_TOTAL_MS = 3_600_000;

/** Deadline for data from a server. It can be reset, and does not run while it is cleared. */
export class Deadline {
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When it was set; null while it is cleared. */
  #since: number | null = null;
  #leftMs = MAX_TOTAL_MS;
  #missed: string | null = null;
  /** Ends a pending read once it has passed. */
  onMissed: (() => void) | undefined;
  /** Bytes that have arrived since it was set. */
  bytes = 0;

  /** @param what as in "It sent no token in 60 s" */
  set(ms: number, what: string): void {
    this.clear();
    this.bytes = 0;
    this.#since = performance.now();
    const isLast = this.#leftMs < ms;
    this.#timer = setTimeout(
      () => {
        this.#missed = isLast ? 'did not end its answer in an hour' : `${what} in ${ms / 1000} s`;
        this.onMissed?.();
      },
      Math.min(ms, this.#leftMs),
    );
  }

  clear(): void {
    clearTimeout(this.#timer);
    if (this.#since !== null) this.#leftMs -= performance.now() - this.#since;
    this.#since = null;
  }

  /** @throws UpstreamError once it has passed */
  check(): void {
    if (this.#missed) throw brokeBound(this.#missed);
  }
}

/**
 * Yields the bytes of an answer as they arrive.
 * @throws UpstreamError past `maxBytes`, and past the deadline
 */
export async function* streamBytes(
  response: Response,
  maxBytes: number,
  deadline: Deadline,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const leave = (): void => void reader.cancel().catch(() => undefined);
  deadline.onMissed = leave;
  const slice = new TimeSlice();
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      deadline.check();
      if (done) return;
      length += value.length;
      deadline.bytes += value.length;
      if (length > maxBytes) throw brokeBound(`sent more than ${maxBytes} bytes`);
      yield value;
      await slice.yieldWhenOver();
    }
  } finally {
    deadline.clear();
    // Unread, the rest would hold one of the few connections that a browser opens to a host.
    leave();
  }
}

/** Maximum time to send an answer that is computed already. */
const MAX_BODY_MS = 60_000;

/** Minimum average bytes per JSON value: `{}` takes three, and forty times as much memory. */
const BYTES_PER_VALUE = 16;

/** A whole answer as JSON. @throws UpstreamError past the bounds; SyntaxError */
export async function readJsonBody(response: Response, maxBytes: number, ms = MAX_BODY_MS): Promise<unknown> {
  const deadline = new Deadline();
  deadline.set(ms, 'did not end its answer');
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const bytes of streamBytes(response, maxBytes, deadline)) parts.push(bytes);
  const json = new Uint8Array(await new Blob(parts).arrayBuffer());
  const excess = findExcess(json, Math.floor(maxBytes / BYTES_PER_VALUE));
  if (excess) throw brokeBound(`sent an answer that ${excess.rule}`);
  return JSON.parse(new TextDecoder().decode(json));
}

/** A whole answer of a schema. @throws UpstreamError */
export async function readAnswer<Value>(
  response: Response,
  schema: z.ZodMiniType<Value>,
  what: string,
  maxBytes: number,
): Promise<Value> {
  const json = await readJsonBody(response, maxBytes).catch((error: unknown) => {
    if (!(error instanceof SyntaxError)) throw error;
    throw /json/i.test(response.headers.get('content-type') ?? '') ? cutShort() : without('JSON', response);
  });
  return conforming(schema, json, what);
}

/**
 * Parses what a server sent. Zod stops at the first fault: collecting all faults of a long list takes
 * seconds.
 * @throws UpstreamError
 */
export function conforming<Value>(schema: z.ZodMiniType<Value>, sent: unknown, what: string): Value {
  const { success, data } = schema.safeParse(sent, FIRST_FAULT);
  if (!success) throw misshapen(what);
  return data;
}
