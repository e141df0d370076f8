import { env, LogLevel } from '@huggingface/transformers';
import type { ProxyMarked } from 'comlink';

import { toWireError } from '../../errors/engine-errors.ts';
import type { WireError } from '../../errors/wire-error.ts';
import type { TranscriptionProgress } from '../../jobs/transcription.ts';
import type { DecodeAudio } from '../../protocol/worker-control.ts';
import { type Runtime, wasmOptions } from '../onnx/runtime-files.ts';
import { type ReadFile, serveFiles } from '../onnx/weight-files.ts';
import { readAudio } from './read-audio.ts';
import { type Reading, SampleWindow } from './sample-window.ts';
import { transcribe, type TranscribeOptions } from './transcribe.ts';
import { WhisperModel } from './whisper-model.ts';

export interface WhisperFiles {
  name: string;
  device: 'wasm' | 'webgpu';
  dtype: 'fp32' | 'q8';
}

export interface WhisperAbilities {
  /** Codes; empty for a model that knows English alone. */
  languages: readonly string[];
  timesWords: boolean;
}

/** What the worker does now, or has done. */
export type Step = Reading | TranscriptionProgress;

export type Finished = { seconds: number } | { error: WireError };

let loaded: WhisperModel | null = null;
let decodeAudio: DecodeAudio;
let running = new AbortController();

/** Transcribes files, one at a time, in a separate worker: decoding and computing would block the engine's. */
export const whisperWorker = {
  /** @throws what the runtime failed with */
  async load(
    { name, device, dtype }: WhisperFiles,
    runtime: Runtime,
    read: ReadFile,
    decodeInPage: DecodeAudio,
  ): Promise<WhisperAbilities> {
    Object.assign(env.backends.onnx.wasm ?? {}, wasmOptions(runtime));
    env.logLevel = LogLevel.ERROR;
    serveFiles(name, read);
    decodeAudio = decodeInPage;
    loaded = await WhisperModel.load(name, { device, dtype });
    const { languages, timesWords } = loaded;
    return { languages, timesWords };
  },

  /** Returns errors as values: thrown ones lose their fields on the way. */
  async transcribe(
    file: Blob,
    options: Omit<TranscribeOptions, 'signal'>,
    onStep: (step: Step) => Promise<void>,
  ): Promise<Finished> {
    if (!loaded) throw new Error('no model is loaded');
    running = new AbortController();
    const { signal } = running;
    try {
      const sound = await readAudio(file, decodeAudio);
      try {
        const window = new SampleWindow(sound, (step) => void onStep(step));
        for await (const progress of transcribe(loaded, window, { ...options, signal })) {
          await onStep(progress);
          signal.throwIfAborted();
        }
        return { seconds: window.seconds };
      } finally {
        void sound.return();
      }
    } catch (error) {
      if (!signal.aborted) console.error('localtext: a transcription failed', error);
      return { error: toWireError(error) };
    }
  },

  /** Ends what runs, within one step of the decoder. */
  async stop(): Promise<void> {
    running.abort(new DOMException('The transcription was stopped.', 'AbortError'));
  },
};

/** What an engine's worker offers to one that has started it: `worker.ts`. */
export interface WhisperHost {
  /** Resolves when the worker holds the lock. */
  helper(name: 'whisper', lock: string): Promise<typeof whisperWorker & ProxyMarked>;
}
