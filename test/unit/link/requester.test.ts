import type { EngineTransport } from '../../../src/link/engine-connection.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createRequester, loadModel } from '../../../src/link/requester.ts';
import type { EngineMessage } from '../../../src/protocol/engine-port.ts';
import type { EngineEvent } from '../../../src/protocol/service-dependencies.ts';
import type { ChatEvent, ChatJob } from '../../../src/jobs/chat.ts';
import type { Job } from '../../../src/jobs/kinds.ts';
import type { TranscriptionEvent, TranscriptionJob } from '../../../src/jobs/transcription.ts';
import type { EmbeddingEvent, EmbeddingJob } from '../../../src/jobs/embedding.ts';
import { keepLock, leaderLock, leaderUrlLock, requestLock } from '../../../src/protocol/locks.ts';
import {
  accepted,
  delta,
  done,
  failure,
  FakeLeader,
  FakeSite,
  textOf,
  thought,
  type FakePort,
  type Question,
} from './fake-leader.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';
import { chatJob } from '../../support/chat-job.ts';

virtualTime();
// In virtual time, a ping would end before its answer arrives.
vi.mock(import('../../../src/base/when-stuck.ts'), async (original) => ({
  ...(await original()),
  whenStuck: () => new Promise(() => undefined),
}));

const HELLO = chatJob({ model: 'amber-phoenix-4' });

let site: FakeSite;
let locks: FakeLocks;
const leaders: FakeLeader[] = [];

function setUp(deadlineMs = 2000): ReturnType<typeof createRequester> {
  site = new FakeSite();
  locks = new FakeLocks();
  return createRequester({ scope: '/', transport: site, locks: locks.manager, deadlineMs });
}

function lead(onQuestion: (port: FakePort) => void): FakeLeader {
  const leader = new FakeLeader(locks, onQuestion);
  leaders.push(leader);
  site.leader = leader;
  return leader;
}

async function collect(events: AsyncIterable<EngineEvent>): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const event of events) if (event.type !== 'stage') all.push(event);
  return all;
}

/** Each tab ends that gets the question, until five have. @returns how many have */
function endTabs(end: 'leave' | 'die'): () => number {
  let ended = 0;
  const next = (): void => {
    const leader = lead(({ send }) => {
      if (ended === 5) for (const message of [accepted(), delta('at last'), done(2)]) send(message);
      else {
        ended++;
        next();
        leader[end]();
      }
    });
  };
  next();
  return () => ended;
}

const ask = (id = 'r1', signal = new AbortController().signal) => ({ id, signal });
async function embed(client: ReturnType<typeof setUp>, job: EmbeddingJob): Promise<EmbeddingEvent | null> {
  for await (const event of client.run(job, ask('e1'))) if (event.type === 'done') return event;
  return null;
}
const tick = (milliseconds = 10): Promise<void> => sleep(milliseconds);

afterEach(() => {
  for (const leader of leaders.splice(0)) leader.die();
});

describe('a transcription', () => {
  it('goes on at the next engine after the last finished part', async () => {
    const client = setUp();
    const task = { kind: 'transcription', model: 'coral-wren-4', task: 'transcribe', stream: false } as const;
    const job: TranscriptionJob = { ...task, file: new Blob(['sound']), times: [], others: [] };
    const progress = { segments: [], position: 28.5, language: 'en', previous: [1, 2] };
    const asked: Job[] = [];
    const note = (question: Question) => question.type === 'job' && asked.push(question.job);
    const event = (what: TranscriptionEvent): EngineMessage => ({ type: 'event', event: what });
    const accept = event({ type: 'accepted', fingerprint: 'f' });
    const first = lead(({ question, send }) => {
      note(question);
      send(accept);
      send(event({ type: 'delta', text: 'one', progress }));
    });
    const types: string[] = [];
    for await (const each of client.run(job, ask())) {
      types.push(each.type);
      if (each.type !== 'delta') continue;
      lead(({ question, send }) => {
        note(question);
        send(accept);
        const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
        const transcript = { language: 'en', seconds: 2, segments: [] };
        send(event({ type: 'done', transcript, usage, timings: { queueMs: 0, computeMs: 0 } }));
      });
      first.die();
    }
    expect(types.filter((type) => type === 'delta' || type === 'done')).toEqual(['delta', 'done']);
    expect(asked.map((each) => 'progress' in each && each.progress)).toEqual([false, progress]);
    await tick();
    expect(locks.heldNames()).not.toContain(requestLock('/', 'r1'));
  });
});

describe('a chat', () => {
  it('that gives way is asked for again, from where it was, and says how often it has', async () => {
    const client = setUp();
    const asked: Question[] = [];
    lead(({ question, send }) => {
      asked.push(question);
      for (const message of [accepted(), delta(`${asked.length} `)]) send(message);
      send(asked.length < 5 ? { type: 'paused' } : done(1));
    });
    const origin = { client: 'page', request: 'r1', background: true } as const;
    const events = await collect(client.run({ ...HELLO, maxTokens: 9 }, { ...ask(), origin }));
    expect(textOf(events)).toBe('1 2 3 4 5 ');
    expect(asked.map((question) => question.type === 'job' && question.pauses)).toEqual([0, 1, 2, 3, 4]);
    expect(asked[4]).toMatchObject({
      origin,
      job: { resume: { text: '1 2 3 4 ', tokens: 4 }, maxTokens: 5 },
    });
    expect(events.at(-1)).toMatchObject({ usage: { completionTokens: 5 } });
  });

  it.each(['paused', 'engine_crashed', 'the end of its tab'])(
    'names its attempt once, and no more after %s',
    async (end) => {
      const client = setUp();
      const origins: unknown[] = [];
      const answer = ({ question, send }: FakePort): void => {
        if (question.type === 'job') origins.push(question.origin);
        if (origins.length > 1) for (const message of [accepted(), done(1)]) send(message);
        else if (end === 'paused') send({ type: 'paused' });
        else if (end === 'engine_crashed') send(failure(end));
        else {
          lead(answer);
          leader.leave();
        }
      };
      const leader = lead(answer);
      const origin = { client: 'page', request: 'r1', background: true, mayBeRepeated: true } as const;
      await collect(client.run(HELLO, { ...ask(), origin: { ...origin, attempt: 1 } }));
      expect(origins).toEqual([{ ...origin, attempt: 1 }, origin]);
    },
  );

  it('yields what the engine sends, and lets go of the lock it held', async () => {
    const client = setUp();
    let heldWhileAsked: string[] = [];
    lead(({ send }) => {
      heldWhileAsked = locks.heldNames();
      for (const message of [accepted(), delta('a'), delta('b'), done(2)]) send(message);
    });
    const events = await collect(client.run(HELLO, ask()));
    expect(events.map(({ type }) => type)).toEqual(['accepted', 'delta', 'delta', 'done']);
    expect(heldWhileAsked).toContain(requestLock('/', 'r1'));
    await tick();
    expect(locks.heldNames()).not.toContain(requestLock('/', 'r1'));
  });

  it('gives credit back as deltas are read, not as they arrive', async () => {
    const client = setUp();
    let port: FakePort | null = null;
    lead((asked) => {
      port = asked;
      asked.send(accepted());
      for (let count = 0; count < 32; count++) asked.send(delta('x'));
    });
    const credits = (): number =>
      port?.heard.reduce((sum, message) => sum + (message.type === 'credit' ? message.count : 0), 0) ?? 0;
    const iterator = client.run(HELLO, ask())[Symbol.asyncIterator]();
    await iterator.next();
    await tick(30);
    expect(credits()).toBe(0);
    for (let count = 0; count < 32; count++) await iterator.next();
    await tick();
    expect(credits()).toBe(32);
    await iterator.return?.();
  });

  it('says so when no tab offers an engine in time, which a frozen page does not count', async () => {
    const client = setUp(300);
    await expect(collect(client.run(HELLO, ask()))).rejects.toMatchObject({
      wire: { status: 500, code: 'engine_unavailable' },
    });
    await tick();
    expect(locks.heldNames()).toEqual([]);
    const timers = vi.spyOn(globalThis, 'setTimeout').mockReturnValue(undefined as never);
    const asked = collect(setUp().run(HELLO, ask()));
    await new Promise(setImmediate);
    const late = [...timers.mock.calls];
    timers.mockRestore();
    lead(({ send }) => [accepted(), done(1)].forEach(send));
    for (const [run] of late) run();
    expect(await asked).toHaveLength(2);
  });

  it.each([
    [1, 'is silent', []],
    [0, 'starts', [{ type: 'stage', stage: 'loading' }] as const],
  ])('asks for another leader in 15 s %i times where the first %s', async (times, _, messages) => {
    const client = setUp(15_000);
    const offer = vi.fn(async (...[ways]: Parameters<EngineTransport['offer']>) => {
      for (const message of messages) ways.openPort().postMessage(message);
      await new Promise(setImmediate);
    });
    site.leader = { offer };
    await expect(collect(client.run(HELLO, ask()))).rejects.toThrow('engine');
    expect(offer.mock.calls.filter(([, , isLost]) => isLost)).toHaveLength(times);
  });

  it('says which tab does not respond', async () => {
    const client = setUp(300);
    const url = 'https://site.example/app?view=1#/notes';
    for (const name of [leaderLock('/'), leaderUrlLock('/', url)]) await keepLock(locks.manager, name);
    await expect(collect(client.run(HELLO, ask()))).rejects.toThrow(
      `The tab ${url}, which holds the Web Lock localtext:leader, did not respond within 0 s.`,
    );
  });

  it('refuses a worker of another version', async () => {
    const client = setUp();
    lead(() => {}).version = 999;
    await expect(collect(client.run(HELLO, ask()))).rejects.toMatchObject({
      wire: { code: 'protocol_mismatch' },
    });
  });

  it.each(['abort', 'return', 'abort past the page'])('tells the engine to stop on %s', async (way) => {
    const client = setUp();
    let port: FakePort | null = null;
    lead((asked) => {
      port = asked;
      asked.send(accepted());
    }).isDirect = way === 'abort past the page';
    const abort = new AbortController();
    const iterator = client.run(HELLO, ask('r2', abort.signal))[Symbol.asyncIterator]();
    await iterator.next();
    if (way === 'return') await iterator.return?.();
    else {
      abort.abort(new Error('left'));
      await expect(iterator.next()).rejects.toThrow('left');
    }
    await expect.poll(() => port).toMatchObject({ heard: [{ type: 'job' }, { type: 'cancel' }] });
    expect(locks.heldNames()).not.toContain(requestLock('/', 'r2'));
  });
});

/** The first leader says this and dies, the next one says that; and what each was asked. */
async function handOver(job: ChatJob, said: EngineMessage[], then: EngineMessage[]) {
  const client = setUp();
  const asked: Question[] = [];
  const first = lead(({ question, send }) => {
    asked.push(question);
    for (const message of said) send(message);
    site.leader = null;
    void sleep(20).then(() => first.die());
  });
  const events = collect(client.run(job, ask()));
  await tick(100);
  lead(({ question, send }) => {
    asked.push(question);
    for (const message of then) send(message);
  });
  return { events: await events, asked };
}

describe('when the engine dies', () => {
  it('tells that the next one loads', async () => {
    const client = setUp();
    const first = lead(({ send }) => {
      send({ type: 'stage', stage: 'queued' });
      site.leader = null;
      void sleep(20).then(() => first.die());
    });
    const stages: string[] = [];
    for await (const event of client.run(HELLO, ask())) {
      if (event.type !== 'stage') continue;
      stages.push(event.stage);
      if (event.stage === 'loading')
        lead(({ send }) => [accepted(), delta('whole'), done(1)].forEach((message) => send(message)));
    }
    expect(stages).toEqual(['queued', 'loading']);
  });

  it('asks the next one the same when nothing had come', async () => {
    const { events, asked } = await handOver(HELLO, [], [accepted(), delta('whole'), done(1)]);
    expect(asked).toMatchObject([1, 2].map(() => ({ id: 'r1', job: HELLO })));
    expect(textOf(events)).toBe('whole');
  });

  it('goes on from the text so far, and counts once', async () => {
    const { events, asked } = await handOver(
      { ...HELLO, maxTokens: 10 },
      [accepted(7), delta('One '), delta('two ')],
      [accepted(9), delta('three'), done(1, 9)],
    );
    expect(asked[1]).toMatchObject({ job: { maxTokens: 8, resume: { text: 'One two ', tokens: 2 } } });
    expect(textOf(events)).toBe('One two three');
    expect(events.filter(({ type }) => type === 'accepted')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'done', usage: { promptTokens: 7, completionTokens: 3 } });
  });

  it.each([
    [
      'thinking',
      [thought('I '), thought('add')],
      { thoughts: { text: 'I add', ended: false }, resume: { text: '', tokens: 2 } },
    ],
    [
      'answering',
      [thought('I add.'), delta('Fo')],
      { thoughts: { text: 'I add.', ended: true }, resume: { text: 'Fo', tokens: 2 } },
    ],
  ])('goes on %s after the thoughts so far', async (_, before, job) => {
    const { events, asked } = await handOver(
      { ...HELLO, maxTokens: 10 },
      [accepted(7), ...before],
      [accepted(9), delta('ur.'), done(1, 9)],
    );
    expect(asked[1]).toMatchObject({ job: { ...job, maxTokens: 8 } });
    expect(events.at(-1)).toMatchObject({ usage: { completionTokens: 3 } });
  });

  it('needs no further engine when only the last word was missing', async () => {
    const job = { ...HELLO, maxTokens: 2 };
    const { events, asked } = await handOver(job, [accepted(), delta('a'), delta('b')], []);
    expect(asked).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ finishReason: 'length', usage: { completionTokens: 2 } });
  });

  const constrained: ChatJob = {
    ...HELLO,
    sampling: { temperature: 1, topP: 1 },
    constraint: { kind: 'json_object' },
  };

  it('makes a constrained reply again with the same seed, and leaves out what had come', async () => {
    const { events, asked } = await handOver(
      constrained,
      [accepted(7), delta('{"a'), delta('":')],
      [accepted(7), delta('{"a'), delta('": 1', 2), delta('}'), done(4, 7)],
    );
    expect(textOf(events)).toBe('{"a": 1}');
    expect(events.flatMap((each) => (each.type === 'delta' ? each.delta.tokens : []))).toEqual([1, 1, 1, 1]);
    expect(events.at(-1)).toMatchObject({ usage: { promptTokens: 7, completionTokens: 4 } });
    expect(asked[1]).toEqual(asked[0]);
    expect(asked[0]).toMatchObject({ job: { sampling: { seed: expect.any(Number) as number } } });
  });

  it('tells thoughts from the answer when both come again', async () => {
    const { events } = await handOver(
      constrained,
      [accepted(7), thought('I '), thought('add')],
      [accepted(7), thought('I a'), thought('dd.'), delta('{}'), done(4, 7)],
    );
    const deltas = events.flatMap((event) => (event.type === 'delta' ? [event.delta] : []));
    expect(deltas.map(({ text, isReasoning }) => [text, isReasoning])).toEqual([
      ['I ', true],
      ['add', true],
      ['.', true],
      ['{}', undefined],
    ]);
  });

  it('gives credit for what it leaves out', async () => {
    const many = Array.from({ length: 40 }, () => delta('x'));
    const client = setUp();
    const asked: FakePort[] = [];
    const begin = () =>
      lead((port) => {
        asked.push(port);
        for (const message of [accepted(), ...many]) port.send(message);
      });
    const credited = (at: number) =>
      expect
        .poll(() => asked[at]?.heard)
        .toMatchObject([{ type: 'job' }, { type: 'credit' }, { type: 'credit' }]);
    begin();
    const events = collect(client.run(constrained, ask()));
    await credited(0);
    leaders.at(-1)?.die();
    begin();
    await credited(1);
    leaders.at(-1)?.die();
    lead(({ send }) => [accepted(), ...many, done(40)].forEach((message) => send(message)));
    expect(textOf(await events)).toBe('x'.repeat(40));
  });

  it.each([
    ['answers differently', [accepted(), delta('{"b'), done(1)]],
    ['ends earlier', [accepted(), delta('{'), done(1)]],
  ])('says engine_lost when the next one %s', async (_, then) => {
    await expect(handOver(constrained, [accepted(), delta('{"a'), delta('":')], then)).rejects.toMatchObject({
      wire: { code: 'engine_lost' },
    });
  });

  it('gives each log probability once', async () => {
    const token = (text: string) => ({ token: text, logprob: -1, bytes: null, top: [] });
    const spoken = (...tokens: string[]): EngineMessage => ({
      type: 'event',
      event: {
        type: 'delta',
        delta: { text: tokens.join(''), tokens: tokens.length, logprobs: tokens.map(token) },
      },
    });
    const { events } = await handOver(
      { ...HELLO, topLogprobs: 0 },
      [accepted(), spoken('a'), spoken('b')],
      [accepted(), spoken('a'), spoken('b', 'c'), spoken('d'), done(4)],
    );
    expect(textOf(events)).toBe('abcd');
    const logprobs = events.flatMap((event) => (event.type === 'delta' ? (event.delta.logprobs ?? []) : []));
    expect(logprobs.map((one) => one.token)).toEqual(['a', 'b', 'c', 'd']);
  });

  it.each(['engine_crashed', 'device_lost'] as const)(
    'asks again after %s, twice, and then says so',
    async (code) => {
      const client = setUp();
      let asked = 0;
      lead(({ send }) => {
        asked++;
        send(failure(code));
      });
      await expect(collect(client.run(HELLO, ask()))).rejects.toMatchObject({ wire: { code } });
      expect(asked).toBe(3);
    },
  );

  it('goes on in the same worker when only its engine had died', async () => {
    const client = setUp();
    lead(({ question, send }) => {
      const resumed = question.type === 'job' && 'resume' in question.job;
      const rest = resumed ? [delta('two'), done(1)] : [delta('One '), failure('engine_crashed')];
      for (const message of [accepted(), ...rest]) send(message);
    });
    expect(textOf(await collect(client.run(HELLO, ask())))).toBe('One two');
  });

  it('counts no tab that was closed', async () => {
    const client = setUp();
    endTabs('leave');
    expect(textOf(await collect(client.run(HELLO, ask())))).toBe('at last');
  });

  it('gives up on a question that kills two in a row', async () => {
    const client = setUp();
    const ended = endTabs('die');
    await expect(collect(client.run(HELLO, ask()))).rejects.toMatchObject({
      wire: { code: 'engine_failed' },
    });
    expect(ended()).toBe(2);
  });
});

describe('other questions', () => {
  it('embeds, again where the first engine died', async () => {
    const client = setUp();
    const first = lead(() => {
      site.leader = null;
      first.die();
    });
    const job = { kind: 'embedding', model: 'jade-mole-4', input: { texts: ['a'] } } as const;
    const result = embed(client, { ...job, input: { texts: ['a'] } });
    await tick(100);
    lead(({ send }) =>
      send({
        type: 'event',
        event: {
          type: 'done',
          vectors: [new Float32Array([1, 0])],
          promptTokens: 3,
          fingerprint: 'fake',
          timings: { queueMs: 0, computeMs: 1 },
        },
      }),
    );
    expect(await result).toMatchObject({ promptTokens: 3, vectors: [new Float32Array([1, 0])] });
  });

  it('loads a model with its progress, and passes on why it cannot', async () => {
    setUp();
    const seen: number[] = [];
    lead(({ question, send }) => {
      if (question.type !== 'load') return;
      const { model } = question;
      send({ type: 'progress', progress: { model, phase: 'load', loadedBytes: 1, totalBytes: 2 } });
      if (model === 'good') send({ type: 'loaded' });
      else {
        const error = {
          status: 500,
          type: 'server_error',
          code: 'weights_unavailable',
          param: null,
        } as const;
        send({ type: 'error', error: { ...error, message: 'No.' } });
      }
    });
    const dependencies = { scope: '/', transport: site, locks: locks.manager };
    const onProgress = ({ loadedBytes }: { loadedBytes: number }): void => void seen.push(loadedBytes);
    const { signal } = new AbortController();
    await loadModel(dependencies, 'good', { signal, onProgress });
    await expect(loadModel(dependencies, 'bad', { signal, onProgress })).rejects.toMatchObject({
      wire: { code: 'weights_unavailable' },
    });
    expect(seen).toEqual([1, 1]);
  });
});
