import { expect, test, vi } from 'vitest';

import type { TranscriptionJob } from '../../../../src/jobs/transcription.ts';
import { delay } from '../../../../src/util/async.ts';
import { WhisperEngine } from '../../../../src/engines/whisper/whisper-engine.ts';
import type { Step } from '../../../../src/engines/whisper/whisper-worker.ts';
import { virtualTime } from '../../../support/virtual-time.ts';

virtualTime();

const job = { task: 'transcribe', times: [], others: [] } as unknown as TranscriptionJob;
const idle = { call: () => Promise.reject(new Error('called')), end: () => undefined };

test.for([
  [{ language: 'de' }, 'language', /de is not known .* It knows en\.$/],
  [{ task: 'translate' }, 'model', /Use a multilingual model/],
  [{ times: ['word'] }, 'timestamp_granularities[]', /lack `cross_attentions`. Use segment, or weights/],
  [{ others: [['include[]', 'logprobs']] }, 'include[]', /are in `verbose_json`\.$/],
  [{ others: [['known_speaker_names[]', 'Ann']] }, 'known_speaker_names[]', /speakers are not distinguished/],
] as const)('%j is a 400 where the model is not able to', async ([asked, param, message]) => {
  const engine = new WhisperEngine(idle, { languages: [], timesWords: false }, 'tiny');
  const answer = engine.run({ ...job, ...asked } as unknown as TranscriptionJob, AbortSignal.abort());
  await expect(answer.next()).rejects.toMatchObject({
    wire: {
      status: 400,
      param,
      code: 'unsupported_value',
      message: expect.stringMatching(message) as string,
    },
  });
});

type Calls = ConstructorParameters<typeof WhisperEngine>[0];
type Model = Parameters<Parameters<Calls['call']>[0]>[0];
type Report = (step: Step) => Promise<void>;

/** A worker that reports the given steps and is then busy: no message reaches it until it is ended. */
function busyWorker(steps: readonly Step[]) {
  let reject: (reason: unknown) => void = () => undefined;
  const gone = new Promise<never>((_, fail) => (reject = fail));
  gone.catch(() => undefined);
  const transcribe = async (_file: unknown, _options: unknown, report: Report) => {
    for (const step of steps) await report(step);
    return gone;
  };
  const model = { transcribe, stop: () => gone } as unknown as Model;
  const worker = {
    call: (call: (model: Model) => Promise<unknown>) => call(model),
    end: vi.fn((reason: unknown) => reject(reason)),
  };
  return { worker: worker as unknown as Calls, end: worker.end };
}

const readJob = { ...job, file: new Blob(['fLaC']) };

test.each([
  ['opened', []],
  ['read on', ['read', 'reading']],
] as const)('a file that is never %s is a 400 after a minute, and its worker is ended', async (_, steps) => {
  const { worker, end } = busyWorker(steps);
  const engine = new WhisperEngine(worker, { languages: [], timesWords: false }, 'tiny');
  const began = performance.now();
  const read = async () => {
    for await (const event of engine.run(readJob, new AbortController().signal))
      expect(event.type).toBe('accepted');
  };
  await expect(read()).rejects.toMatchObject({
    wire: { status: 400, param: 'file', message: expect.stringMatching(/gave no sound for 60 s/) as string },
  });
  expect(performance.now() - began).toBe(60_000);
  expect(end).toHaveBeenCalledOnce();
});

test('a step of the model may take any time; after an abort it has a minute', async () => {
  const { worker, end } = busyWorker(['reading', 'read']);
  const engine = new WhisperEngine(worker, { languages: [], timesWords: false }, 'tiny');
  const abort = new AbortController();
  const events = engine.run(readJob, abort.signal);
  expect(await events.next()).toMatchObject({ value: { type: 'accepted' } });
  const next = events.next();
  next.catch(() => undefined);
  await delay(3_600_000);
  expect(end).not.toHaveBeenCalled();
  abort.abort(new Error('stopped'));
  await expect(next).rejects.toThrow('stopped');
  expect(end).toHaveBeenCalledOnce();
});
