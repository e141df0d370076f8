import { configure } from '../onnx/configure.ts';
import type { Runtime } from '../onnx/wasm-options.ts';
import type { ReadFile } from '../onnx/weight-files.ts';
import { type TranscribedWindow, transcribeWindow, type WindowOptions } from './transcribe-window.ts';
import { loadWhisperModel, type WhisperModel } from './internals/whisper-model.ts';

/** Abilities of a loaded model. `languages` is empty if it only knows English. */
export type WhisperAbilities = Pick<WhisperModel, 'languages' | 'timesWords'>;

let loaded: WhisperModel | null = null;
let running = new AbortController();

/** Transcribes windows, one at a time, in a worker, as computing would block the engine worker. */
export const whisperWorker = {
  /** @throws the runtime's error */
  async load(
    name: string,
    options: Parameters<typeof loadWhisperModel>[1],
    runtime: Runtime,
    read: ReadFile,
  ): Promise<WhisperAbilities> {
    configure(name, runtime, read);
    loaded = await loadWhisperModel(name, options);
    const { languages, timesWords } = loaded;
    return { languages, timesWords };
  },

  /** @throws the model's error; AbortError after `stop()` */
  async transcribe(samples: Float32Array, options: WindowOptions): Promise<TranscribedWindow | null> {
    if (!loaded) throw new Error('no model is loaded');
    running = new AbortController();
    return transcribeWindow(loaded, samples, options, running.signal);
  },

  /** Stops the running transcription within one step of the decoder. */
  async stop(): Promise<void> {
    running.abort(new DOMException('The transcription was stopped.', 'AbortError'));
  },
};
