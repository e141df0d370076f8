import { start } from '../../../src/index.ts';
import { pageOptions } from '../../support/site/page-options.ts';
import { hostileForm, SPEECH_MODEL } from '../hostile-form.ts';
import { hostileRequest, type HostileRequest } from '../hostile-request.ts';
import type { Outcome } from '../outcome.ts';

declare global {
  interface Window {
    fuzz: typeof fuzz;
  }
}

const TIMEOUT_MS = 60_000;
/** None is refused for there being so many. */
const LIMITS = { requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000 };
const handle = start(pageOptions());

const fuzz = {
  /** Loads both models. Resolves to a key. */
  async setUp(): Promise<string> {
    const localtext = await handle;
    for (const model of ['amber-phoenix-4', 'jade-mole-4']) await localtext.ready(model);
    const { key } = await localtext.keys.issue({ label: 'fuzz', limits: LIMITS });
    return key;
  },

  async epoch(): Promise<string | null> {
    return (await (await handle).status()).epoch;
  },

  /** State of the first model. */
  async state(): Promise<string | undefined> {
    return (await (await handle).status()).models[0]?.state;
  },

  /** Loads the speech model, and files of sound for `runForms()`. Resolves to a key. */
  async setUpSpeech(clipUrls: string[]): Promise<string> {
    const localtext = await handle;
    await localtext.ready(SPEECH_MODEL);
    for (const url of clipUrls) clips.push(new Uint8Array(await (await fetch(url)).arrayBuffer()));
    return (await localtext.keys.issue({ label: 'fuzz', limits: LIMITS })).key;
  },

  /** Forms with a file, of these indices. */
  runForms: (key: string, seed: number, indices: number[], lanes: number): Promise<Outcome[]> =>
    sendEach(key, indices, lanes, (index) => hostileForm(seed, index, clips)),

  /** The requests of these indices, so many at once; of one kind, where it is given. */
  run: (key: string, seed: number, indices: number[], lanes: number, kind?: string): Promise<Outcome[]> =>
    sendEach(key, indices, lanes, (index) => hostileRequest(seed, index, kind)),

  /** Sends these bodies, the first of this index. */
  runBodies: (
    key: string,
    path: string,
    bodies: string[],
    first: number,
    lanes: number,
  ): Promise<Outcome[]> =>
    sendEach(
      key,
      bodies.map((_, at) => first + at),
      lanes,
      (index) => ({ kind: 'body', method: 'POST', path, headers: {}, body: bodies[index - first] ?? '' }),
    ),

  /** How long `GET /v1/models` took, asked every `interval` milliseconds until `stop` is set. */
  async watch(key: string, interval: number): Promise<number[]> {
    const times: number[] = [];
    fuzz.stop = false;
    while (!fuzz.stop) {
      const began = performance.now();
      const response = await fetch('/v1/models', { headers: { authorization: `Bearer ${key}` } });
      await response.text();
      times.push(response.ok ? performance.now() - began : Number.POSITIVE_INFINITY);
      await new Promise((resolve) => setTimeout(resolve, interval));
    }
    return times;
  },
  stop: false,

  /** A key that may have so many chats in flight. */
  async issue(inFlight: number): Promise<string> {
    const { keys } = await handle;
    return (await keys.issue({ label: 'full', limits: { ...LIMITS, inFlight } })).key;
  },
};

const clips: Uint8Array[] = [];

async function sendEach(
  key: string,
  indices: number[],
  lanes: number,
  requestOf: (index: number) => HostileRequest,
): Promise<Outcome[]> {
  const left = [...indices];
  const outcomes: Outcome[] = [];
  const lane = async (): Promise<void> => {
    for (let index = left.shift(); index !== undefined; index = left.shift()) {
      const request = requestOf(index);
      const began = performance.now();
      const seen = await send(request, key);
      const { kind, method, path } = request;
      outcomes.push({ index, kind, method, path: path.slice(0, 60), ms: performance.now() - began, ...seen });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return outcomes;
}

/** `code` also of an error in a stream. */
async function send(
  { method, path, headers, body }: HostileRequest,
  key: string,
): Promise<Pick<Outcome, 'status' | 'code' | 'fault'>> {
  let status = 0;
  try {
    const response = await fetch(path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    ({ status } = response);
    const text = await response.text();
    return { status, code: /"code":"(\w+)"/.exec(text)?.[1] ?? null, fault: null };
  } catch (error) {
    return {
      status,
      code: null,
      fault: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    };
  }
}

window.fuzz = fuzz;
