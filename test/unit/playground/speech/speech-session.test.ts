import type { Signal } from '@preact/signals';
import { beforeEach, expect, test, vi } from 'vitest';

import {
  cancel,
  phase,
  problem,
  sound,
  takeFile,
  tryAgain,
} from '../../../../playground/speech/speech-session.ts';
import { downloads } from '../../../../playground/client/downloads.ts';
import { modelStatuses } from '../../../../playground/client/localtext.ts';
import { speechState } from '../../../../playground/client/speech-model.ts';

/** Files that the page sends, by their size, and the end of the decoding that runs. */
const seen = vi.hoisted(() => ({ sent: [] as number[], decoded: () => undefined as void }));

vi.mock('../../../../playground/client/localtext.ts', async () => {
  const { signal } = await import('@preact/signals');
  const handle = Promise.resolve({ ready: () => Promise.resolve() });
  const status = { id: 'wren', kind: 'transcription' };
  return { handle, modelStatuses: signal([status]), engineStatus: signal({}) };
});
vi.mock('../../../../playground/client/openai.ts', () => {
  const create = async ({ file }: { file: File }) => {
    seen.sent.push(file.size);
    return { segments: [{ start: 0, end: 1, text: ' Hello.' }] };
  };
  return { openai: () => Promise.resolve({ audio: { transcriptions: { create } } }) };
});
vi.mock('../../../../playground/speech/decode-sound.ts', () => ({
  RATE: 16_000,
  readDuration: () => Promise.resolve(2),
  decodeSound: () =>
    new Promise((resolve) => {
      seen.decoded = () => resolve(new Float32Array(32_000));
    }),
}));

const MB = 1024 * 1024;
const sized = (bytes: number): File => Object.defineProperty(new File([], 'a.wav'), 'size', { value: bytes });

beforeEach(() => {
  seen.sent.length = 0;
});

test('a large file whose reading was cancelled is read again, and not sent whole', async () => {
  const taken = takeFile(sized(100 * MB));
  await vi.waitUntil(() => phase.value === 'reading');
  cancel();
  seen.decoded();
  await taken;
  expect(phase.value).toBe('stopped');
  const again = tryAgain();
  await vi.waitUntil(() => phase.value === 'reading');
  seen.decoded();
  await again;
  expect(phase.value).toBe('done');
  expect(seen.sent.length).toBeGreaterThan(0);
  expect(Math.max(...seen.sent)).toBeLessThan(25 * MB);
});

test('a file that neither the page nor a request takes is refused, and is not to be tried again', async () => {
  await takeFile(sized(300 * MB));
  expect(problem.value).toMatch(/^This file is larger than 25 MB/);
  expect(phase.value).toBe('idle');
  expect(sound.value?.samples).toBe(null);
  expect(seen.sent).toEqual([]);
});

test('the view stays while the engine starts again, and where a failed download can be tried again', () => {
  const show = (reasons: object[] | null): string => {
    const status = { id: 'wren', kind: 'transcription', reasons };
    (modelStatuses as Signal<object[]>).value = reasons === null ? [] : [status];
    return speechState.value;
  };
  expect([[{ chosen: true }], null, [], [{ chosen: false }]].map(show)).toEqual([
    'usable',
    'usable',
    'usable',
    'no weights',
  ]);
  downloads.value = { wren: { phase: 'failed' } } as unknown as typeof downloads.value;
  expect(speechState.value).toBe('usable');
});
