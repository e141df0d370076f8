import { expect, test } from 'vitest';

import type { TranscriptionJob } from '../../../../../src/jobs/transcription.ts';
import { WhisperEngine } from '../../../../../src/worker/runtimes/whisper/whisper-engine.ts';
import { virtualTime } from '../../../../support/virtual-time.ts';

virtualTime();

const job = { task: 'transcribe', fields: [] } as unknown as TranscriptionJob;
const idle = { call: () => Promise.reject(new Error('called')), end: () => undefined };

test.for([
  [{ fields: [['language', 'de']] }, 'language', /de is not known .* It knows en\.$/],
  [{ task: 'translate' }, 'model', /Use a multilingual model/],
  [
    {
      fields: [
        ['response_format', 'verbose_json'],
        ['timestamp_granularities[]', 'word'],
      ],
    },
    'timestamp_granularities[]',
    /lack `cross_attentions`. Use segment, or weights/,
  ],
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

test('a file whose reading does not end is a 400, and its worker is ended', async () => {
  let end: (reason: unknown) => void = () => undefined;
  const gone = new Promise<never>((_, reject) => (end = reject));
  gone.catch(() => undefined);
  // No message reaches a worker that is busy.
  const busy = { call: () => gone, end: (reason: unknown) => end(reason) };
  const engine = new WhisperEngine(busy, { languages: [], timesWords: false }, 'tiny');
  const began = performance.now();
  const answer = engine.run({ ...job, file: new Blob(['fLaC']) }, new AbortController().signal);
  await expect(answer.next()).rejects.toMatchObject({
    wire: { status: 400, param: 'file', message: expect.stringMatching(/reading it does not end/) as string },
  });
  expect(performance.now() - began).toBeLessThan(15_000);
  await expect(gone).rejects.toMatchObject({ code: 'engine_crashed' });
});
