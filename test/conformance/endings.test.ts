import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { catalogDirectory } from '../../src/service/model-list/models.ts';
import { ENDPOINTS } from '../../src/service/endpoints.ts';
import { createService, RULES } from '../../src/service/service.ts';
import { ServiceError } from '../../src/base/errors/service-error.ts';
import type { EventOf, JobOf, Kind, ModelKind } from '../../src/jobs/kinds.ts';
import type { RequestLogEntry } from '../../src/protocol/request-log.ts';
import type { EngineRequester, KeyStore, StageEvent } from '../../src/protocol/service-dependencies.ts';

/** Every kind of request × every ending: what the log, the headers and the key's charge say. */

const ENDS = ['success', 'fails before', 'fails in prefill', 'fails after output', 'client leaves'] as const;
type Ending = (typeof ENDS)[number];

interface Row {
  name: string;
  kind: Kind;
  request: () => { path: string; body: BodyInit };
  streamed?: boolean;
  /** Whether it is made of events, into which a failure can be written. Default: `streamed`. */
  tells?: boolean;
  /** Tokens charged for a whole answer of 3 prompt tokens and 2 more. */
  charged: number;
  /** Minimum charged if it ends while it is computed. Default: 1. */
  unfinished?: number;
  /** An engine generates text. */
  generates?: boolean;
  usage: Partial<Record<'promptTokens' | 'cachedTokens' | 'completionTokens', number>>;
}

const json = (path: string, body: object) => () => ({ path, body: JSON.stringify(body) });

function form(path: string, stream: boolean): Row['request'] {
  return () => {
    const body = new FormData();
    body.set('file', new File(['sound'], 'a.wav'));
    body.set('model', 'coral-wren-4');
    body.set('stream', String(stream));
    return { path, body };
  };
}

const generated = { kind: 'chat', charged: 5, generates: true } as const;
const usage = { promptTokens: 3, cachedTokens: 1, completionTokens: 2 };
const counted = { kind: 'chat', charged: 50, usage: { promptTokens: 3 } } as const;
const { chat, completion, response, countChat, countResponse } = ENDPOINTS;
const { decision, embeddings, rerank, speech } = ENDPOINTS;
const longer = { max_tokens: 2 };

const ROWS: Row[] = [
  ...[false, true].flatMap((stream): Row[] => [
    {
      ...row('chat', stream),
      ...generated,
      request: json(chat.path, { ...chat.sample, ...longer, stream }),
      usage,
    },
    {
      ...row('completion', stream),
      ...generated,
      request: json(completion.path, { ...completion.sample, ...longer, stream }),
      usage,
    },
    {
      ...row('response', stream),
      ...generated,
      request: json(response.path, { ...response.sample, max_output_tokens: 2, stream }),
      usage,
    },
    ...(['transcription', 'translation'] as const).map((name): Row => ({
      ...row(name, stream),
      ...generated,
      kind: 'transcription',
      // The least for a sound.
      charged: 256,
      request: form(ENDPOINTS[name].path, stream),
      usage,
    })),
  ]),
  { name: 'count of a chat', ...counted, request: json(countChat.path, countChat.sample) },
  { name: 'count of a response', ...counted, request: json(countResponse.path, countResponse.sample) },
  ...(['sse', 'audio'] as const).map((format): Row => ({
    name: `speech, ${format}`,
    streamed: true,
    tells: format === 'sse',
    kind: 'speech',
    // 3 of the text, and a tenth of a second of sound.
    charged: 5,
    generates: true,
    request: json(speech.path, { model: 'silver-lark-4', input: 'Hi', stream_format: format }),
    usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 2 },
  })),
  {
    name: 'decision',
    kind: 'decision',
    // 3 of the prompt and 2 of the options' steps.
    charged: 5,
    request: json(decision.path, decision.sample),
    usage: { promptTokens: 3, cachedTokens: 1, completionTokens: 0 },
  },
  {
    name: 'embeddings',
    kind: 'embedding',
    charged: 0,
    request: json(embeddings.path, embeddings.sample),
    usage: { promptTokens: 3 },
  },
  {
    ...row('rerank', false),
    kind: 'rerank',
    charged: 3,
    request: json(rerank.path, rerank.sample),
    usage: { promptTokens: 3 },
  },
  {
    ...row('rerank of a long query', false),
    kind: 'rerank',
    // The tokenizer reads 802 characters, of which the fake model computes 3 tokens.
    charged: 4,
    // A reranker reads the query with each of the documents.
    unfinished: 200,
    request: json(rerank.path, { ...rerank.sample, query: 'word '.repeat(80), documents: ['a', 'b'] }),
    usage: { promptTokens: 3 },
  },
];

function row(name: string, streamed: boolean): Pick<Row, 'name' | 'streamed'> {
  return { name: `${name}, ${streamed ? 'streamed' : 'whole'}`, streamed };
}

const QUEUE_MS = 300;
const PREFILL_MS = 1000;
/** Longer than the time between the comments of a waiting stream. */
const TOKEN_MS = 6000;
const FINGERPRINT = 'fake-weights';
const failure = new ServiceError({ message: 'No.', code: 'engine_lost' });

const timings = { queueMs: QUEUE_MS, computeMs: PREFILL_MS + TOKEN_MS };

/** Events of each kind: 3 prompt tokens, and 2 more if it generates. */
const EVENTS: { [K in Kind]: EventOf<K>[] } = {
  chat: [
    { type: 'accepted', accepted: { promptTokens: 3, cachedTokens: 1, fingerprint: FINGERPRINT } },
    { type: 'delta', delta: { text: 'a', tokens: 1 } },
    { type: 'delta', delta: { text: 'b', tokens: 1 } },
    { type: 'done', finishReason: 'stop', usage, timings: { queueMs: 300, prefillMs: 1000, decodeMs: 6000 } },
  ],
  transcription: [
    { type: 'accepted', fingerprint: FINGERPRINT },
    { type: 'delta', text: 'a' },
    { type: 'delta', text: 'b' },
    { type: 'done', transcript: { answer: { text: 'ab' } }, usage, timings },
  ],
  speech: [
    { type: 'accepted', fingerprint: FINGERPRINT },
    { type: 'delta', bytes: Uint8Array.of(1), text: 'a', seconds: 0.05 },
    { type: 'delta', bytes: Uint8Array.of(2), text: 'b', seconds: 0.05 },
    { type: 'done', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 0 }, timings },
  ],
  decision: [
    { type: 'delta', progress: { answers: [[0.5, 0.5]], promptTokens: 3, cachedTokens: 1, labelTokens: 2 } },
    {
      type: 'done',
      progress: { answers: [[0.5, 0.5]], promptTokens: 3, cachedTokens: 1, labelTokens: 2 },
      fingerprint: FINGERPRINT,
      timings,
    },
  ],
  toolChoice: [{ type: 'done', scores: null, promptTokens: 0, fingerprint: FINGERPRINT }],
  rerank: [{ type: 'done', scores: [0.5], promptTokens: 3, fingerprint: FINGERPRINT, timings }],
  embedding: [
    { type: 'done', vectors: [Float32Array.of(1)], promptTokens: 3, fingerprint: FINGERPRINT, timings },
  ],
};

function engineOf(ending: Ending, onJob: () => void): EngineRequester {
  return {
    async *run<K extends Kind>(
      job: JobOf<K>,
      { signal }: { signal: AbortSignal },
    ): AsyncGenerator<StageEvent | EventOf<K>> {
      onJob();
      yield { type: 'stage', stage: 'queued' };
      await sleep(QUEUE_MS, signal);
      if (ending === 'fails before') throw failure;
      yield { type: 'stage', stage: 'prefill', servedBy: FINGERPRINT };
      await sleep(PREFILL_MS, signal);
      if (ending === 'fails in prefill') throw failure;
      const events: EventOf<K>[] = EVENTS[job.kind];
      for (const [at, event] of events.entries()) {
        if (at > 1) await sleep(TOKEN_MS, signal);
        if (ending === 'fails after output' && event.type === 'done') throw failure;
        yield event;
      }
    },
  };
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets time pass in small steps, and streams their turns. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    for (let turns = 0; turns < 4; turns++) await turn();
  }
}

async function ask({ request }: Row, ending: Ending) {
  const settled: number[] = [];
  let left = 0;
  let begin = (): void => {};
  const hasJob = new Promise<void>((resolve) => (begin = resolve));
  const limits = { limit: 1000, remaining: 900, resetMs: 0 };
  const state = { requests: limits, tokens: limits };
  const keys: KeyStore = {
    admit: async (_, isMetered) => ({
      admitted: true,
      keyId: 'key',
      label: 'test',
      models: null,
      deviceOnly: false,
      inFlightLimit: 1,
      limits: isMetered ? state : null,
      exceeded: null,
    }),
    enter: async () => () => left++,
    reserve: async (_, tokens) => ({ retryAfterMs: null, taken: tokens, limits: state }),
    settle: async (_, __, used) => void settled.push(used),
  };
  const created = 1_700_000_000;
  const model = (id: string, kind: ModelKind) => ({ id, kind, created, variants: [] });
  const entries: RequestLogEntry[] = [];
  const service = createService({
    engine: engineOf(ending, begin),
    keys,
    models: catalogDirectory(async () => ({
      ownedBy: 'localtext',
      models: [
        model('amber-phoenix-4', 'chat'),
        model('jade-mole-4', 'embedding'),
        model('coral-wren-4', 'transcription'),
        model('silver-lark-4', 'speech'),
      ],
    })),
    responses: { put: async () => {}, get: async () => null, delete: async () => {} },
    log: (entry) => entries.push(entry),
  });
  const gone = new AbortController();
  const { path, body } = request();
  const sent = new Request(`https://site.example${path}`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer lt_x',
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
    },
    body,
    signal: gone.signal,
  });
  const answer: { response?: Response; text?: string; error?: unknown } = {};
  const read = async (): Promise<void> => {
    answer.response = await service(sent);
    answer.text = await answer.response.text();
  };
  const done = read().catch((error: unknown) => {
    answer.error = error;
  });
  // A form is parsed in real time.
  await hasJob;
  await pass(QUEUE_MS + PREFILL_MS / 2);
  if (ending === 'client leaves') gone.abort();
  await pass(PREFILL_MS + 3 * TOKEN_MS);
  await done;
  return { ...answer, settled, left, entries, last: entries.at(-1), isMetered: path !== embeddings.path };
}

// Schemas are imported when a request needs them, which takes real time.
beforeAll(async () => {
  await import('../../src/service/transcriptions/transcription-form.ts');
  for (const load of Object.values(RULES)) await load();
});
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const aboutQueue = expect.toSatisfy((ms) => ms >= QUEUE_MS && ms < QUEUE_MS + 300);

describe.each(ROWS.map((each) => [each.name, each] as const))('%s', (_, each) => {
  const { streamed = false, tells = streamed, generates = false, unfinished = 1 } = each;

  test('success', async () => {
    const { response: got, text, settled, left, last, isMetered } = await ask(each, 'success');
    expect(got?.status).toBe(200);
    const { charged } = each;
    expect([settled, left]).toEqual(isMetered ? [[charged], 1] : [[], 0]);
    expect(last).toMatchObject({
      state: 'done',
      status: 200,
      error: null,
      servedBy: FINGERPRINT,
      queueMs: aboutQueue,
    });
    expect(last).toMatchObject({ ...each.usage, streamed });
    expect(last?.responseBody?.text).not.toBe('');
    const first = last?.firstTokenMs;
    if (generates)
      expect(first).toSatisfy((ms) => ms >= QUEUE_MS + PREFILL_MS && ms < QUEUE_MS + PREFILL_MS + 500);
    else expect(first).toBeNull();
    expect(got?.headers.get('localtext-served-by')).toBe(FINGERPRINT);
    expect(got?.headers.get('server-timing')).toMatch(/^queue;dur=3\d\d/);
    expect(got?.headers.get('x-ratelimit-limit-tokens')).toBe(isMetered ? '1000' : null);
    // Comments end once something is generated.
    if (tells)
      expect(text?.lastIndexOf(': waiting') ?? -1).toBeLessThan(
        text?.search(/"(a|delta)"|text":"a|audio\.delta/) ?? 0,
      );
    else expect(text).not.toContain(': waiting');
  });

  test('fails before', async () => {
    const { response: got, settled, left, last, isMetered } = await ask(each, 'fails before');
    expect(got?.status).toBe(500);
    expect([settled, left]).toEqual(isMetered ? [[0], 1] : [[], 0]);
    expect(last).toMatchObject({ state: 'done', status: 500, error: 'engine_lost', queueMs: null });
    expect(last).toMatchObject({ firstTokenMs: null, promptTokens: null, servedBy: null });
    expect(got?.headers.get('localtext-served-by')).toBeNull();
  });

  test('fails in prefill', async () => {
    const { response: got, text, settled, left, last, isMetered } = await ask(each, 'fails in prefill');
    expect([got?.status, left]).toEqual([tells ? 200 : 500, isMetered ? 1 : 0]);
    expect(settled).toEqual(
      isMetered ? [expect.toSatisfy((tokens) => tokens >= unfinished && tokens <= 300)] : [],
    );
    expect(last).toMatchObject({
      state: 'done',
      error: 'engine_lost',
      queueMs: aboutQueue,
      firstTokenMs: null,
    });
    expect(last).toMatchObject({ servedBy: FINGERPRINT, promptTokens: null });
    expect(text).toContain('"code":"engine_lost"');
  });

  // A count ends with its first event.
  if (!each.name.startsWith('count'))
    test('fails after output', async () => {
      const { text, error, settled, left, last, isMetered } = await ask(each, 'fails after output');
      expect([left, settled.length]).toEqual(isMetered ? [1, 1] : [0, 0]);
      if (isMetered) expect(settled[0]).toBeGreaterThan(0);
      if (each.kind === 'chat') expect(settled).toEqual([5]);
      expect(last).toMatchObject({ state: 'done', error: 'engine_lost', servedBy: FINGERPRINT });
      if (tells || !streamed) expect(text).toContain('"code":"engine_lost"');
      else expect(error).toBeDefined();
    });

  test('client leaves', async () => {
    const { settled, left, last, isMetered } = await ask(each, 'client leaves');
    expect(left).toBe(isMetered ? 1 : 0);
    expect(settled).toEqual(
      isMetered ? [expect.toSatisfy((tokens) => tokens >= unfinished && tokens <= 300)] : [],
    );
    expect(last).toMatchObject({ state: 'aborted', error: null, firstTokenMs: null, queueMs: aboutQueue });
    expect(last?.totalMs).toBeLessThan(QUEUE_MS + PREFILL_MS);
  });
});
