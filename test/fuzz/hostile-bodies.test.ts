import { ALL_ENDPOINTS } from '../../src/service/endpoints.ts';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { Random } from '../chaos/random.ts';
import { fakeService } from '../support/fake-service.ts';
import { stepsOf } from '../support/steps-of.ts';
import { seed } from './seed.ts';

/** Bodies that drip, stall, break off or never end, of every content type, to every endpoint. */

const realTimeout = setTimeout;

/** Waits for a promise in so many rounds of a millisecond; null: it has not settled. */
async function settled<T>(promise: Promise<T>, rounds: number): Promise<T | null> {
  const tick = async (): Promise<null> => {
    await vi.advanceTimersByTimeAsync(1);
    return new Promise((resolve) => void realTimeout(resolve, 1, null));
  };
  for (let round = 0; round < rounds; round++) {
    const value = await Promise.race([promise, tick()]);
    if (value !== null) return value;
  }
  return null;
}

beforeAll(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterAll(() => void vi.useRealTimers());

const count = Number(process.env['LOCALTEXT_FUZZ_BODIES'] ?? 60);
/** No other request is answered meanwhile. */
const MAX_STEPS = 50e6;
/** Time of the service's clock. */
const MAX_MS = 130_000;

const BOUNDARY = 'boundary';
const FORM = `multipart/form-data; boundary=${BOUNDARY}`;
/** Requests about a stored response have no body. */
const hasBody = (method: string, path: string): boolean => method === 'POST' && !path.includes(':');
const PATHS = ALL_ENDPOINTS.flatMap(([, { method, path }]) => (hasBody(method, path) ? [path] : []));
const JSON_TYPES = [
  'application/json',
  'text/plain;charset=UTF-8',
  'application/vnd.api+json; charset=utf-16',
];
const FORM_TYPES = [FORM, `multipart/form-data; boundary="${BOUNDARY}"; charset=x`];
const OTHER_TYPES = [
  'application/x-www-form-urlencoded',
  'application/jsonx',
  'multipart/mixed; boundary=x',
  'multipart/form-data',
  'text/html',
  `a${'a'.repeat(5000)}`,
];
const isFormPath = (path: string): boolean => path.startsWith('/v1/audio/trans');

const part = (head: string, content: string): string => `--${BOUNDARY}\r\n${head}\r\n\r\n${content}\r\n`;
const field = (name: string, content = 'x'): string =>
  part(`Content-Disposition: form-data; name="${name}"`, content);
const END = `--${BOUNDARY}--\r\n`;
const chat = '{"model":"amber-phoenix-4","messages":[{"role":"user","content":"Hi"}],"max_tokens":1}';

/** Texts that are bodies of one kind or the other, in every odd form. */
const TEXTS: (() => string)[] = [
  () => chat,
  () => `${field('model', 'whisper')}${END}`,
  () => field('json', chat) + END,
  () => field('a').repeat(200_000) + END,
  () => part('a: b\r\n'.repeat(1_000_000), 'x') + END,
  () => part(`Content-Disposition: form-data; name="${'n'.repeat(5_000_000)}"`, 'x') + END,
  () =>
    part('Content-Disposition: form-data; name="file"; filename="a"', '\r\n--bound'.repeat(1_000_000)) + END,
  () => part(`Content-Type: ${FORM}`, field('file')) + END,
  () => '\r\n'.repeat(5_000_000) + field('file') + END,
  () => '--'.repeat(5_000_000),
  () => END.repeat(500_000),
  () => field('file').replaceAll('\r', '') + END,
  () => 'a&'.repeat(5_000_000),
  () => 'a=%'.repeat(5_000_000),
  () => '',
];

const ENDINGS = ['whole', 'in small pieces', 'stalls', 'drips', 'breaks off', 'without end', 'left'] as const;
type Ending = (typeof ENDINGS)[number];

interface Sent {
  stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Resolves when the first bytes are asked for. */
  begun: Promise<void>;
  /** Bytes that were asked for. */
  pulled(): number;
  isCancelled(): boolean;
}

function streamOf(bytes: Uint8Array<ArrayBuffer>, ending: Ending): Sent {
  let at = 0;
  let cancelled = false;
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const size = ending === 'in small pieces' ? Math.max(1, Math.ceil(bytes.length / 2000)) : 2 ** 16;
  const last = ['stalls', 'breaks off', 'left'].includes(ending) ? bytes.length >> 1 : bytes.length;
  const source: UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> = {
    async pull(controller) {
      begin();
      if (ending === 'drips') {
        await new Promise((resolve) => setTimeout(resolve, 500));
        controller.enqueue(Uint8Array.of(32));
        at++;
      } else if (ending === 'without end') {
        controller.enqueue(new Uint8Array(2 ** 20).fill(32));
        at += 2 ** 20;
      } else if (at < last) {
        controller.enqueue(bytes.slice(at, Math.min(last, at + size)));
        at += size;
      } else if (ending === 'breaks off') controller.error(new TypeError('network error'));
      else if (ending === 'stalls' || ending === 'left') await new Promise(() => undefined);
      else controller.close();
    },
    cancel() {
      cancelled = true;
    },
  };
  const stream = new ReadableStream(source, { highWaterMark: 0 });
  return { stream, begun, pulled: () => at, isCancelled: () => cancelled };
}

interface Case {
  path: string;
  type: string;
  ending: Ending;
  text: number;
}

const hostileBody = (random: Random): Case => ({
  path: random.pick(PATHS),
  type: random.pick([...JSON_TYPES, ...FORM_TYPES, ...FORM_TYPES, ...OTHER_TYPES]),
  ending: random.pick(ENDINGS),
  text: random.below(TEXTS.length),
});

const encoder = new TextEncoder();

/** Null: it is answered as it should be. */
async function judge(given: Case): Promise<string | null> {
  const { path, type, ending, text } = given;
  const isTaken = (isFormPath(path) ? FORM_TYPES : JSON_TYPES).includes(type);
  // One place: a request that holds it is seen by the next one.
  const { fetch } = await fakeService({ issue: { limits: { inFlight: 1 } } });
  const { stream, begun, pulled, isCancelled } = streamOf(encoder.encode(TEXTS[text]?.()), ending);
  const leave = new AbortController();
  const init = { body: stream, duplex: 'half', headers: { 'content-type': type }, signal: leave.signal };
  const isSlow = ['stalls', 'drips', 'left'].includes(ending);
  let status: number | string | null = null;
  const steps = await stepsOf(async () => {
    const answered = fetch(path, init as RequestInit).then(
      (response) => response.status,
      (error: Error) => error.message,
    );
    // The key is hashed by another thread, which no number of turns waits for.
    await Promise.race([answered, begun]);
    status = await settled(answered, isSlow ? 30 : 10_000);
    if (status !== null) return;
    if (ending === 'left') leave.abort(new Error('left'));
    else await vi.advanceTimersByTimeAsync(MAX_MS);
    status = await settled(answered, 1000);
  });
  if (steps > MAX_STEPS) return `took ${steps} steps`;
  const statuses: (string | number)[] = isTaken ? [200, 400, 413] : [400];
  if (ending === 'left') statuses.push('left');
  if (status === null || !statuses.includes(status)) return `status ${status}`;
  if (!isTaken && pulled() > 2 ** 20) return `read ${pulled()} bytes of a type that it does not take`;
  if (isTaken && ['stalls', 'drips', 'without end', 'left'].includes(ending) && !isCancelled())
    return 'goes on reading';
  const next = await settled(
    fetch('/v1/chat/completions', { method: 'POST', body: chat }).then((response) => response.status),
    1000,
  );
  return next === 200 ? null : `keeps its place: ${next}`;
}

test(
  `every body is read within bounds (${count}, seed ${seed})`,
  { timeout: 120_000 + count * 500 },
  async () => {
    const faults: string[] = [];
    for (let index = 0; index < count; index++) {
      const given = hostileBody(new Random(seed * 5_000_011 + index));
      const fault = await judge(given);
      if (fault !== null)
        faults.push(`${index} ${JSON.stringify({ ...given, type: given.type.slice(0, 60) })}: ${fault}`);
    }
    expect(faults).toEqual([]);
  },
);
