import { expect, test } from 'vitest';

import type { Variant } from '../../../../src/catalog/catalog.ts';
import { serveJob } from '../../../../src/engine-worker/requests/serve-job.ts';
import { JobPaused } from '../../../../src/scheduling/lease.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';
import type { TranscriptionEvent, TranscriptionJob } from '../../../../src/jobs/transcription.ts';
import { createModelManager } from '../../../support/create-model-manager.ts';
import { sleep, virtualTime } from '../../../support/virtual-time.ts';
import { never } from '../../../support/never.ts';

virtualTime();

const WINDOWS = 5;

/** Model with one slot, and each window of sound that it begins: `long` or `short`, and its index. */
function windowModel(windowMs: number) {
  const begun: string[] = [];
  const engine: Engine<'transcription'> = {
    kind: 'transcription',
    fingerprint: 'fake',
    slots: 1,
    traits: {},
    async *run({ file, progress }, signal): AsyncGenerator<TranscriptionEvent, void, undefined> {
      const windows = file.size > 1000 ? WINDOWS : 1;
      yield { type: 'accepted', fingerprint: 'fake' };
      for (let position = progress?.position ?? 0; position < windows;) {
        begun.push(`${windows === 1 ? 'short' : 'long'} ${position}`);
        await sleep(windowMs);
        signal.throwIfAborted();
        const state = { segments: [], position: ++position, language: 'en', previous: [] };
        yield { type: 'delta', text: '', progress: state };
        signal.throwIfAborted();
      }
      const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
      const transcript = { language: 'en', seconds: windows, segments: [] };
      yield { type: 'done', transcript, usage, timings: { queueMs: 0, computeMs: 0 } };
    },
    unload: () => Promise.resolve(),
  };
  const variant: Variant = { license: 'MIT', contextLength: 9, files: [], engine: 'whisper', name: 'v' };
  const models = createModelManager({
    catalog: { ownedBy: 'us', models: [{ id: 'm', kind: 'transcription', created: 0, variants: [variant] }] },
    load: () => Promise.resolve(engine),
    plan: () => Promise.resolve({ candidates: [variant], reasons: [] }),
  });

  /** Asks again each time the job is paused, as the service worker does. @returns windows of the transcript */
  const transcribe = async (bytes: number, isStreamed: boolean, client = 'c'): Promise<number> => {
    let job: TranscriptionJob = {
      kind: 'transcription',
      model: 'm',
      task: 'transcribe',
      file: new Blob([new Uint8Array(bytes)]),
      times: [],
      stream: isStreamed,
      others: [],
    };
    const origin = { client, request: 'r', ...(!isStreamed && { background: true as const }) };
    for (let pauses = 0; ; pauses++) {
      let windows = 0;
      try {
        const request = { id: 'r', job, imageOrigins: [], origin, pauses };
        await serveJob<'transcription'>(models, request, never, {
          onStage: () => undefined,
          send(event) {
            if (event.type === 'delta' && event.progress) job = { ...job, progress: event.progress };
            if (event.type === 'done' && 'seconds' in event.transcript) windows = event.transcript.seconds;
          },
        });
        return windows;
      } catch (error) {
        if (!(error instanceof JobPaused)) throw error;
      }
    }
  };
  return { begun, transcribe };
}

test.each([
  ['a long transcription', 1e6],
  ['one of a minute, compressed,', 1e5],
])('%s that is not streamed gives way to a short one within a window', async (_, size) => {
  const { begun, transcribe } = windowModel(4000);
  const long = transcribe(size, false);
  await sleep(6000);
  expect(await transcribe(100, false)).toBe(1);
  expect(await long).toBe(WINDOWS);
  // The first window was whole.
  expect(begun.slice(0, 5)).toEqual(['long 0', 'long 1', 'short 0', 'long 1', 'long 2']);
});

test.each([
  ['a long transcription', 1e6],
  ['one of a minute, compressed,', 1e5],
])('%s gets on between short ones without an end, though each comes within a window', async (_, size) => {
  const { begun, transcribe } = windowModel(10_000);
  const shorts = async (): Promise<string> => {
    for (let i = 0; i < 12; i++) {
      await sleep(100);
      await transcribe(100, false);
    }
    return 'only short ones ended';
  };
  expect(await Promise.race([transcribe(size, false), shorts()])).toBe(WINDOWS);
  // Two windows are computed again; those after them are not.
  expect(begun.filter((window) => window.startsWith('long'))).toHaveLength(WINDOWS + 2);
});

test('streamed transcriptions of two tabs take turns, and compute no window twice', async () => {
  const { begun, transcribe } = windowModel(15_000);
  const both = await Promise.all([transcribe(1e6, true, 'a'), transcribe(1e6, true, 'b')]);
  expect(both).toEqual([WINDOWS, WINDOWS]);
  expect(begun).toHaveLength(2 * WINDOWS);
  expect(begun.slice(0, 2)).toEqual(['long 0', 'long 0']);
});

test('a streamed transcription keeps its slot from one that is not streamed', async () => {
  const { begun, transcribe } = windowModel(4000);
  await Promise.all([transcribe(1e6, true), transcribe(1e6, false)]);
  expect(begun.slice(0, WINDOWS)).toEqual(Array.from({ length: WINDOWS }, (_, i) => `long ${i}`));
});
