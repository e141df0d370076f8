import { expect, test } from 'vitest';

import type { ChatEvent, ChatJob } from '../../../../src/jobs/chat.ts';
import type { Origin } from '../../../../src/protocol/engine-port.ts';
import type { Reader } from '../../../../src/engine-host/requests/serve-job.ts';
import { SharedJobs } from '../../../../src/engine-host/requests/shared-jobs.ts';
import { createDeferred } from '../../../../src/util/async.ts';

const job: ChatJob = {
  kind: 'chat',
  model: 'm',
  input: { prompt: 'hello' },
  sampling: { temperature: 0, topP: 1 },
};
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
  const work = async (reader: Reader<'chat'>, signal: AbortSignal): Promise<void> => {
    signals.push(signal);
    await reader.send(delta('a'));
    await go.promise;
    await reader.send(delta('b'));
  };
  return { go, signals, work };
}

function reading() {
  let text = '';
  const reader: Reader<'chat'> = {
    onStage: () => undefined,
    send: (event) => void (text += event.type === 'delta' ? event.delta.text : ''),
  };
  return { reader, text: () => text };
}

const never = new AbortController().signal;

test('a repetition follows the job that runs, and gets all of its answer', async () => {
  const jobs = new SharedJobs();
  const { go, signals, work } = runner();
  const [first, second] = [reading(), reading()];
  const runs = [
    jobs.run({ id: '1', job, origin: from('1') }, first.reader, never, work),
    jobs.run({ id: '2', job: { ...job }, origin: from('2') }, second.reader, never, work),
  ];
  go.resolve();
  await Promise.all(runs);
  expect([first.text(), second.text(), signals.length]).toEqual(['ab', 'ab', 1]);
  await jobs.run({ id: '3', job, origin: from('3') }, reading().reader, never, work);
  expect(signals.length).toBe(2);
});

test('the job ends when the last of them has left, and not before', async () => {
  const jobs = new SharedJobs();
  const { signals, work } = runner();
  const aborts = [new AbortController(), new AbortController()];
  const runs = aborts.map(({ signal }, index) =>
    jobs.run({ id: `${index}`, job, origin: from(`${index}`) }, reading().reader, signal, work),
  );
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
