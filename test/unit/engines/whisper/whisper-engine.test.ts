import { expect, test, vi } from 'vitest';

import { invalidField } from '../../../../src/base/errors/service-error.ts';
import type { TranscriptionJob } from '../../../../src/jobs/transcription.ts';
import { delay } from '../../../../src/base/async.ts';
import { whisperEngine } from '../../../../src/engines/whisper/whisper-engine.ts';
import { virtualTime } from '../../../support/virtual-time.ts';

virtualTime();

const job = { task: 'transcribe', times: [], others: [] } as unknown as TranscriptionJob;
const idle = { call: () => Promise.reject(new Error('called')), end: () => undefined };
const abilities = { languages: [], timesWords: false };

type Reader = Parameters<typeof whisperEngine>[1];
type Sound = ReturnType<Reader['read']>;

const readerOf = (read: () => Sound): Reader => ({ read, end: () => undefined });
const silent = readerOf(async function* () {});

test.for([
  [{ language: 'de' }, 'language', /de is not supported .* It supports en\.$/],
  [{ task: 'translate' }, 'model', /Use a multilingual model/],
  [{ times: ['word'] }, 'timestamp_granularities[]', /lack `cross_attentions`. Use segment, or weights/],
  [{ others: [['include[]', 'logprobs']] }, 'include[]', /are in `verbose_json`\.$/],
  [{ others: [['known_speaker_names[]', 'Ann']] }, 'known_speaker_names[]', /speakers are not distinguished/],
] as const)('%j is a 400 where the model is not able to', async ([asked, param, message]) => {
  const engine = whisperEngine(idle, silent, abilities, 'tiny');
  const bad = { ...job, ...asked } as unknown as TranscriptionJob;
  const answer = engine.run(bad, AbortSignal.abort())[Symbol.asyncIterator]();
  await expect(answer.next()).rejects.toMatchObject({
    wire: {
      status: 400,
      param,
      code: 'unsupported_value',
      message: expect.stringMatching(message) as string,
    },
  });
});

test.each(['languages[]', 'keywords[]', 'chunking_strategy'])('%s is accepted', async (name) => {
  const engine = whisperEngine(idle, silent, abilities, 'tiny');
  const answer = engine.run({ ...job, others: [[name, 'x']] }, AbortSignal.abort())[Symbol.asyncIterator]();
  await expect(answer.next()).rejects.toMatchObject({ name: 'AbortError' });
});

type Calls = Parameters<typeof whisperEngine>[0];
type Model = Parameters<Parameters<Calls['call']>[0]>[0];

/** A worker that runs this. */
function workerOf(transcribe: () => Promise<unknown>) {
  let reject: (reason: unknown) => void = () => undefined;
  const gone = new Promise<never>((_, fail) => (reject = fail));
  gone.catch(() => undefined);
  const model = { transcribe, stop: () => gone } as unknown as Model;
  const worker = {
    call: (call: (model: Model) => Promise<unknown>) => Promise.race([call(model), gone]),
    end: vi.fn((reason: unknown) => reject(reason)),
  };
  return { worker: worker as unknown as Calls, end: worker.end };
}

const readJob = { ...job, file: new Blob(['fLaC']) };

const loud = readerOf(async function* () {
  yield Float32Array.of(1);
});

test('the error describes what is wrong with a file, and the model stays loaded', async () => {
  const { worker, end } = workerOf(() => Promise.reject(new Error('called')));
  // oxlint-disable-next-line require-yield
  const damaged = readerOf(async function* () {
    throw invalidField('file', 'is damaged');
  });
  const engine = whisperEngine(worker, damaged, abilities, 'tiny');
  const events = engine.run(readJob, new AbortController().signal)[Symbol.asyncIterator]();
  await expect(events.next()).rejects.toMatchObject({
    wire: { status: 400, param: 'file', message: '`file` is damaged.' },
  });
  expect(end).not.toHaveBeenCalled();
});

test('a step of the model may take any time; after an abort it has a minute', async () => {
  const { worker, end } = workerOf(() => new Promise(() => undefined));
  const engine = whisperEngine(worker, loud, abilities, 'tiny');
  const abort = new AbortController();
  const events = engine.run(readJob, abort.signal)[Symbol.asyncIterator]();
  expect(await events.next()).toMatchObject({ value: { type: 'accepted' } });
  const next = events.next();
  next.catch(() => undefined);
  await delay(3_600_000);
  expect(end).not.toHaveBeenCalled();
  abort.abort(new Error('stopped'));
  await expect(next).rejects.toThrow('stopped');
  expect(end).toHaveBeenCalledOnce();
});
