import { expect, test } from 'vitest';

import { voiceEngine } from '../../../../src/engines/voice/voice-engine.ts';
import type { SpeechJob } from '../../../../src/jobs/speech.ts';
import { lastOf } from '../../../support/last-of.ts';

/** A speech of sentences in pieces, each of which is its length in seconds. */
function speech(sentences: Record<string, number[]>) {
  const spoken: number[] = [];
  const worker = {
    formats: () => ['pcm'],
    begin: () => Object.keys(sentences),
    read: (sentence: string) => sentences[sentence],
    speak: (seconds: number) => seconds && { seconds, bytes: Uint8Array.of(spoken.push(seconds)) },
  };
  const calls = { call: async (ask: (voice: object) => unknown) => ask(worker), end() {} };
  const engine = voiceEngine(calls as never, new Map([['heart', 'heart.onnx']]), 'f');
  const job: SpeechJob = { kind: 'speech', model: 'voice', text: 'a', format: 'pcm', speed: 1 };
  const run = (more: Partial<SpeechJob> = {}) =>
    engine.run({ ...job, ...more }, new AbortController().signal);
  return { run, spoken };
}

test('a long sentence is spoken, and resumed, piece by piece', async () => {
  const { run, spoken } = speech({ a: [1, 2, 3], b: [4] });
  const states = [];
  for await (const event of run()) if (event.type === 'delta') states.push(event);
  expect(states.map(({ text }) => text)).toEqual(['a', '', '', 'b']);
  const [, second] = states;
  expect(second?.progress).toEqual({ sentences: 0, pieces: 2, seconds: 3 });
  if (second?.progress) await lastOf(run({ progress: second.progress }));
  expect(spoken.slice(4)).toEqual([3, 4]);
});

test('a text of which nothing can be spoken is refused, and is no empty sound', async () => {
  await expect(lastOf(speech({ ʘ: [] }).run({ text: 'ʘ' }))).rejects.toThrow('`input`');
  await expect(lastOf(speech({ a: [NaN] }).run())).rejects.toThrow('not finite numbers');
});
