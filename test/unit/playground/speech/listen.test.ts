import { signal } from '@preact/signals';
import { beforeEach, expect, test, vi } from 'vitest';
import { listen } from '../../../../playground/speech/listen.ts';

const level = { value: 0 };

vi.mock('../../../../playground/speech/recorder.ts', () => ({
  Recorder: class {
    readonly phase = signal('recording');
    readonly problem = signal(null);
    readonly #onRecorded: (samples: Float32Array) => void;
    constructor(onRecorded: (samples: Float32Array) => void) {
      this.#onRecorded = onRecorded;
    }
    start = async (): Promise<void> => undefined;
    level = (): number => level.value;
    stop = (): void => this.#onRecorded(new Float32Array(16_000));
    cancel = (): void => undefined;
  },
}));

beforeEach(() => void vi.useFakeTimers());

test('silence during a reply does not count, and half a minute after it ends the listening', async () => {
  let isWaiting = false;
  const ended = vi.fn();
  const options = { signal: new AbortController().signal, onRecorder: vi.fn(), onSpeech: vi.fn() };
  level.value = 0;
  void listen({ ...options, isWaiting: () => isWaiting }).then(ended);
  await vi.advanceTimersByTimeAsync(60_000);
  isWaiting = true;
  await vi.advanceTimersByTimeAsync(29_000);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2000);
  expect(ended).toHaveBeenCalledWith(null);
});

test('speech is recorded until a pause', async () => {
  const onSpeech = vi.fn();
  const heard = listen({
    signal: new AbortController().signal,
    onRecorder: vi.fn(),
    onSpeech,
    isWaiting: () => true,
  });
  level.value = 0;
  await vi.advanceTimersByTimeAsync(1000);
  level.value = 0.8;
  await vi.advanceTimersByTimeAsync(1000);
  expect(onSpeech).toHaveBeenCalledOnce();
  level.value = 0;
  await vi.advanceTimersByTimeAsync(2000);
  expect(await heard).toBeInstanceOf(Float32Array);
});
