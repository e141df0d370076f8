import { expect, test } from 'vitest';

import { voiceEngine } from '../../../../src/engines/voice/voice-engine.ts';
import type { SpeechJob } from '../../../../src/jobs/speech.ts';
import { lastOf } from '../../../support/last-of.ts';

test('a text of which nothing can be spoken is refused, and is no empty sound', async () => {
  const worker = { formats: async () => ['pcm'], begin: async () => ['ʘ'], speak: async () => null };
  const calls = { call: async (ask: (voice: object) => unknown) => ask(worker), end() {} };
  const engine = voiceEngine(calls as never, new Map([['heart', 'heart.onnx']]), 'f');
  const job: SpeechJob = { kind: 'speech', model: 'voice', text: 'ʘ', format: 'pcm', speed: 1 };
  await expect(lastOf(engine.run(job, new AbortController().signal))).rejects.toThrow('`input`');
});
