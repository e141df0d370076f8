import { expect, test, vi } from 'vitest';

import type { ChatEvent, ChatJob } from '../../../../src/jobs/chat.ts';
import type { Job, JobOf, Kind } from '../../../../src/jobs/kinds.ts';
import type { Origin } from '../../../../src/protocol/engine-port.ts';
import type { JobSink } from '../../../../src/engine-worker/requests/serve-job.ts';
import { SharedJobs } from '../../../../src/engine-worker/requests/shared-jobs.ts';
import { createDeferred } from '../../../../src/base/async.ts';
import { chatJob } from '../../../support/chat-job.ts';
import { never } from '../../../support/never.ts';

const job = chatJob({ input: { prompt: 'hello' } });
const from = (id: string, change: Partial<Origin> = {}): Origin => ({
  client: 'page',
  request: id,
  background: true,
  mayBeRepeated: true,
  ...change,
});
const delta = (text: string): ChatEvent => ({ type: 'delta', delta: { text, tokens: 1 } });

/** Runs every job it is given in two halves; the second waits for `go`. */
function runner() {
  const go = createDeferred();
  const signals: AbortSignal[] = [];
  const work = async (reader: JobSink<Kind>, signal: AbortSignal): Promise<void> => {
    signals.push(signal);
    await reader.send(delta('a'));
    await go.promise;
    await reader.send(delta('b'));
  };
  return { go, signals, work };
}

function reading() {
  let text = '';
  const reader: JobSink<Kind> = {
    onStage: () => undefined,
    send: (event) => void (text += 'delta' in event ? event.delta.text : ''),
  };
  return { reader, text: () => text };
}

const image = { at: 0, url: 'data:image/png;base64,AAAA', param: 'input' };

/** Two jobs of each kind that differ in one place alone. */
const PAIRS: [string, () => Job, () => Job][] = [
  ['chat', () => job, () => ({ ...job, maxTokens: 3 })],
  ['chat with a picture', () => pictured('AAAA'), () => pictured('AAAB')],
  ['embedding', () => embedding({ texts: ['a', 'b'] }), () => embedding({ texts: ['a', 'c'] })],
  ['embedding of token ids', () => embedding(tokens(1)), () => embedding(tokens(2))],
  ['decision', () => decision(undefined), () => decision([image])],
  ['transcription', () => transcription('abc'), () => transcription('abd')],
];
const pictured = (bytes: string): Job => ({
  ...job,
  input: { messages: [{ role: 'user', content: '', images: [{ ...image, url: image.url + bytes }] }] },
});
const embedding = (input: JobOf<'embedding'>['input']): Job => ({ kind: 'embedding', model: 'm', input });
const tokens = (last: number) => ({ tokens: [Float64Array.of(1, last)] });
const decision = (images: (typeof image)[] | undefined): Job => ({
  kind: 'decision',
  model: 'm',
  input: { text: 'a', ...(images && { images }) },
  questions: [],
});
const transcription = (sound: string): Job => ({
  kind: 'transcription',
  model: 'm',
  task: 'transcribe',
  file: new Blob([sound]),
  times: [],
  stream: false,
  others: [],
});

test.each(PAIRS)(
  '%s: a repetition follows the job that runs, another job does not, and files alone are hashed, once',
  async (kind, make, other) => {
    const [jobs, digest] = [new SharedJobs(), vi.spyOn(crypto.subtle, 'digest')];
    const { go, signals, work } = runner();
    const [first, second, third] = [reading(), reading(), reading()];
    const runs = [
      jobs.run({ id: '1', job: make(), origin: from('1') }, first.reader, never, work),
      jobs.run({ id: '2', job: make(), origin: from('2') }, second.reader, never, work),
      jobs.run({ id: '3', job: other(), origin: from('3') }, third.reader, never, work),
    ];
    await expect.poll(() => [first, second, third].map(({ text }) => text())).toEqual(['a', 'a', 'a']);
    go.resolve();
    await Promise.all(runs);
    expect([first.text(), second.text(), signals.length]).toEqual(['ab', 'ab', 2]);
    await jobs.run({ id: '4', job: make(), origin: from('4') }, reading().reader, never, work);
    expect(signals.length).toBe(3);
    expect(digest).toHaveBeenCalledTimes(kind === 'transcription' ? 4 : 0);
  },
);

test('choices of a repeated request follow those of the first, each its own', async () => {
  const jobs = new SharedJobs();
  const { go, signals, work } = runner();
  const readings = Array.from({ length: 4 }, reading);
  const runs = readings.map(({ reader }, at) => {
    const request = at < 2 ? '1' : '2';
    return jobs.run({ id: `${request}-${at % 2}`, job, origin: from(request) }, reader, never, work);
  });
  await expect.poll(() => readings.map(({ text }) => text())).toEqual(['a', 'a', 'a', 'a']);
  go.resolve();
  await Promise.all(runs);
  expect(signals.length).toBe(2);
});

test('the job ends when the last of them has left, and not before', async () => {
  const jobs = new SharedJobs();
  const { signals, work } = runner();
  const aborts = [new AbortController(), new AbortController()];
  const readings = aborts.map(reading);
  const runs = aborts.map(({ signal }, index) =>
    jobs.run(
      { id: `${index}`, job, origin: from(`${index}`) },
      readings[index]?.reader ?? reading().reader,
      signal,
      work,
    ),
  );
  await expect.poll(() => readings.map(({ text }) => text())).toEqual(['a', 'a']);
  aborts[0]?.abort(new Error('gone'));
  await expect(runs[0]).rejects.toThrow('gone');
  expect(signals[0]?.aborted).toBe(false);
  aborts[1]?.abort(new Error('gone'));
  await expect(runs[1]).rejects.toThrow('gone');
  expect(signals[0]?.aborted).toBe(true);
});

const OWN: [string, { id: string; job: ChatJob; origin?: Origin }][] = [
  ['another client', { id: '2', job, origin: from('2', { client: 'other' }) }],
  ['another job', { id: '2', job: { ...job, maxTokens: 3 }, origin: from('2') }],
  ['a request that its page can abort', { id: '2', job, origin: { client: 'page', request: '2' } }],
  ['one of several choices', { id: '2-1', job, origin: from('2') }],
  ['a seed of the request alone', { id: '2', job: { ...job, seeded: true }, origin: from('2') }],
];

test.each(OWN)('computed by itself: %s', async (_, request) => {
  const jobs = new SharedJobs();
  const { go, signals, work } = runner();
  const runs = [
    jobs.run({ id: '1', job, origin: from('1') }, reading().reader, never, work),
    jobs.run(request, reading().reader, never, work),
  ];
  go.resolve();
  await Promise.all(runs);
  expect(signals.length).toBe(2);
});

const sampled: ChatJob = { ...job, sampling: { temperature: 1, topP: 1 } };

/** Asks for one job in numbered attempts, in virtual time. */
function attempting(asked: ChatJob) {
  vi.useFakeTimers();
  const jobs = new SharedJobs();
  const { go, signals, work } = runner();
  const ends: Promise<unknown>[] = [];
  const ask = async (attempt?: number, signal = never): Promise<void> => {
    const id = `${ends.length}`;
    const { reader, text } = reading();
    ends.push(
      jobs
        .run(
          { id, job: asked, origin: from(id, attempt === undefined ? {} : { attempt }) },
          reader,
          signal,
          work,
        )
        .catch((error: unknown) => error),
    );
    await vi.waitFor(() => expect(text()).toBe('a'));
  };
  return { go, signals, ends, ask };
}

test('an attempt ends the one before, and has as much time as that one had', async () => {
  const { signals, ends, ask } = attempting(job);
  const began = performance.now();
  await ask(0);
  await vi.advanceTimersByTimeAsync(1500);
  await ask(1);
  const spent = performance.now() - began;
  await vi.advanceTimersByTimeAsync(2000);
  expect(await ends[0]).toMatchObject({ wire: { status: 408 } });
  await vi.advanceTimersByTimeAsync(spent - 500);
  expect([signals.length, signals[0]?.aborted]).toEqual([1, false]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(signals[0]?.aborted).toBe(true);
  expect(await ends[1]).toMatchObject({ wire: { status: 408 } });
});

test.each([
  { name: 'the first attempt of another', attempts: [0, 1, 0, 2], left: [2, 3] },
  { name: 'one of two that may be meant', attempts: [0, 0, 1], left: [0, 1, 2] },
  { name: 'one of two, though the other has left', attempts: [0, 0, 1], leaves: 1, left: [0, 2] },
  { name: 'one that is not the one before it', attempts: [1, 3], left: [0, 1] },
])('no attempt ends $name', async ({ attempts, leaves, left }) => {
  const { go, ends, ask } = attempting(job);
  const leaving = new AbortController();
  for (const [at, attempt] of attempts.entries()) {
    if (at === attempts.length - 1) leaving.abort('left');
    await ask(attempt, at === leaves ? leaving.signal : never);
    await vi.advanceTimersByTimeAsync(10_000);
  }
  go.resolve();
  const results = await Promise.all(ends);
  expect(results.flatMap((result, at) => (result === undefined ? [at] : []))).toEqual(left);
});

test.each([
  { name: 'first attempts of a sampled chat', of: sampled, attempts: [0, 0, 0], jobs: 3 },
  { name: 'its repetitions follow', of: sampled, attempts: [0, 1, 2], jobs: 1 },
  { name: 'of one with a seed', of: { ...sampled, sampling: { ...sampled.sampling, seed: 1 } }, jobs: 1 },
  { name: 'of a greedy one', of: job, jobs: 1 },
])('first attempts get a reply each, if sampled: $name', async ({ of, attempts = [0, 0, 0], jobs }) => {
  const { go, signals, ends, ask } = attempting(of);
  for (const attempt of attempts) await ask(attempt);
  expect(signals.length).toBe(jobs);
  go.resolve();
  await Promise.all(ends);
});

test('without numbers of attempts: sampled requests at once want a reply each, a later one follows', async () => {
  const { go, signals, ends, ask } = attempting(sampled);
  await ask();
  await ask();
  expect(signals.length).toBe(2);
  await vi.advanceTimersByTimeAsync(2000);
  await ask();
  expect(signals.length).toBe(2);
  go.resolve();
  await Promise.all(ends);
});

test('a repetition ends none of several first attempts', async () => {
  const { go, ends, ask } = attempting(sampled);
  for (const attempt of [0, 0, 1]) await ask(attempt);
  await vi.advanceTimersByTimeAsync(10_000);
  go.resolve();
  expect(await Promise.all(ends)).toEqual([undefined, undefined, undefined]);
});
