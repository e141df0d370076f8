import { env, LogLevel } from '@huggingface/transformers';

import { toWireError } from '../../errors/engine-errors.ts';
import type { WireError } from '../../errors/wire-error.ts';
import type { TranscriptionProgress } from '../../jobs/transcription.ts';
import { type Runtime, wasmOptions } from '../onnx/runtime-files.ts';
import { type ReadFile, serveFiles } from '../onnx/weight-files.ts';
import type { Sound } from './read-audio.ts';
import { SampleWindow } from './sample-window.ts';
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

/** `read`: a window of sound is whole. */
export type Step = 'read' | TranscriptionProgress;

/** The next second of sound; null: its end. Rejects when it cannot be read. */
export type Pull = () => Promise<Float32Array<ArrayBuffer> | null>;

export type Finished = { seconds: number } | { error: WireError };

let loaded: WhisperModel | null = null;
let running = new AbortController();

/** Transcribes sound, one file at a time, in a separate worker: computing would block the engine's. */
export const whisperWorker = {
  /** @throws what the runtime failed with */
  async load(
    { name, device, dtype }: WhisperFiles,
    runtime: Runtime,
    read: ReadFile,
  ): Promise<WhisperAbilities> {
    Object.assign(env.backends.onnx.wasm ?? {}, wasmOptions(runtime));
    env.logLevel = LogLevel.ERROR;
    serveFiles(name, read);
    loaded = await WhisperModel.load(name, { device, dtype });
    const { languages, timesWords } = loaded;
    return { languages, timesWords };
  },

  /** Returns errors as values: thrown ones lose their fields on the way. */
  async transcribe(
    pull: Pull,
    options: Omit<TranscribeOptions, 'signal'>,
    onStep: (step: Step) => Promise<void>,
  ): Promise<Finished> {
    if (!loaded) throw new Error('no model is loaded');
    running = new AbortController();
    const { signal } = running;
    try {
      const window = new SampleWindow(pulled(pull), () => void onStep('read'));
      for await (const progress of transcribe(loaded, window, { ...options, signal })) {
        await onStep(progress);
        signal.throwIfAborted();
      }
      return { seconds: window.seconds };
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

async function* pulled(pull: Pull): Sound {
  for (let samples = await pull(); samples; samples = await pull()) yield samples;
}
