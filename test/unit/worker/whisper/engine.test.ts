import { expect, test } from 'vitest';

import type { TranscriptionJob } from '../../../../src/protocol/job.ts';
import { WhisperEngine } from '../../../../src/worker/runtimes/whisper/whisper-engine.ts';

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
  const answer = engine.transcribe({ ...job, ...asked } as unknown as TranscriptionJob, AbortSignal.abort());
  await expect(answer.next()).rejects.toMatchObject({
    wire: {
      status: 400,
      param,
      code: 'unsupported_value',
      message: expect.stringMatching(message) as string,
    },
  });
});
