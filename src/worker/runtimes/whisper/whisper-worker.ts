import { env } from '@huggingface/transformers';
import type { ProxyMarked } from 'comlink';

import { toWireError } from '../../../errors/engine-errors.ts';
import type { WireError } from '../../../errors/wire-error.ts';
import type { TranscriptionProgress } from '../../../jobs/transcription.ts';
import type { DecodeAudio } from '../../../protocol/worker-control.ts';
import { withTimeout } from '../../../util/async.ts';
import { type Runtime, wasmOptions } from '../onnx/runtime-files.ts';
import { type ReadFile, serveFiles } from '../onnx/weight-files.ts';
import { readAudio } from './read-audio.ts';
import { transcribe, type TranscribeOptions } from './transcribe.ts';
import { WhisperModel } from './whisper-model.ts';

export interface WhisperFiles {
  name: string;
  device: 'wasm' | 'webgpu';
  dtype: 'fp32' | 'q8';
}

export interface WhisperAbilities {
  /** Codes; none: it knows English alone. */
  languages: readonly string[];
  timesWords: boolean;
}

export type Finished = { seconds: number } | { error: WireError };

/** Until the first samples: the page may have to decode the whole file. */
const OPEN_TIMEOUT_MS = 120_000;

let loaded: WhisperModel | null = null;
let decodeAudio: DecodeAudio;
let running = new AbortController();

/** Hears files, one at a time, in a separate worker: decoding and computing would block the engine's. */
export const whisperWorker = {
  /** @throws what the runtime failed with */
  async load(
    { name, device, dtype }: WhisperFiles,
    runtime: Runtime,
    read: ReadFile,
    decodeInPage: DecodeAudio,
  ): Promise<WhisperAbilities> {
    Object.assign(env.backends.onnx.wasm ?? {}, wasmOptions(runtime));
    serveFiles(name, read);
    decodeAudio = decodeInPage;
    loaded = await WhisperModel.load(name, { device, dtype });
    const { isMultilingual, languages, timesWords } = loaded;
    return { languages: isMultilingual ? languages : [], timesWords };
  },

  /**
   * Errors come back as values: thrown ones lose their fields on the way.
   * @param onProgress `null`: the file is known to be sound
   */
  async transcribe(
    file: Blob,
    options: Omit<TranscribeOptions, 'signal'>,
    onProgress: (progress: TranscriptionProgress | null) => Promise<void>,
  ): Promise<Finished> {
    if (!loaded) throw new Error('no model is loaded');
    running = new AbortController();
    const { signal } = running;
    try {
      const audio = await withTimeout(readAudio(file, decodeAudio), OPEN_TIMEOUT_MS);
      if (!audio) throw new Error(`the file was not opened within ${OPEN_TIMEOUT_MS} ms`);
      try {
        await onProgress(null);
        for await (const progress of transcribe(loaded, audio, { ...options, signal })) {
          await onProgress(progress);
          signal.throwIfAborted();
        }
        return { seconds: audio.seconds };
      } finally {
        audio.close();
      }
    } catch (error) {
      if (!signal.aborted) console.error('localtext: a transcription failed', error);
      return { error: toWireError(error) };
    }
  },

  /** Answers unless this thread is busy. */
  async ping(): Promise<void> {},

  /** Ends what runs, within one step of the decoder. */
  async stop(): Promise<void> {
    running.abort(new DOMException('The transcription was stopped.', 'AbortError'));
  },
};

/** What an engine's worker offers to one that has started it: `worker.ts`. */
export interface WhisperHost {
  /** Resolves when the worker holds the lock. */
  whisperWorker(lock: string): Promise<typeof whisperWorker & ProxyMarked>;
}
