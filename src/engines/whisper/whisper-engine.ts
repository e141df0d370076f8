import { engineCrashed, notNumbers, unsupported } from '#base';
import { SOUND_TOKENS_A_SECOND, type TranscriptionJob, type TranscriptionProgress } from '#jobs';
import type { Engine, HelperWorker } from '#engine-kit';
import type { soundReader } from '../sound/sound-reader.ts';
import { SAMPLE_RATE } from '../sound/resampler.ts';
import { sampleWindow } from '../sound/sample-window.ts';
import type { TranscribedWindow, WindowOptions } from './transcribe-window.ts';
import type { WhisperAbilities, whisperWorker } from './whisper-worker.ts';

/** Time limit for the worker to stop after an abort. Computing has none. */
const STOP_TIMEOUT_MS = 60_000;

/** Minimum amplitude (-60 dB) of a window to transcribe. In silence the model invents words. */
const AUDIBLE = 0.001;

type Reader = ReturnType<typeof soundReader>;

/** Whisper, with the model and the audio decoder in separate workers. */
export function whisperEngine(
  worker: HelperWorker<typeof whisperWorker>,
  reader: Reader,
  abilities: WhisperAbilities,
  fingerprint: string,
): Engine<'transcription'> {
  /** Transcribes one window. Settles when the worker is free again. */
  async function transcribe(
    samples: Float32Array,
    options: WindowOptions,
    signal: AbortSignal,
  ): Promise<TranscribedWindow | null> {
    signal.throwIfAborted();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (): void => worker.end(engineCrashed('a transcription did not stop'));
    const stop = (): void => {
      timer = setTimeout(end, STOP_TIMEOUT_MS);
      void worker.call((model) => model.stop()).catch(() => undefined);
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await worker.call((model) => model.transcribe(samples, options));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      signal.throwIfAborted();
    }
  }

  return {
    kind: 'transcription',
    fingerprint,
    slots: 1,
    traits: {},
    /** Transcribes window by window. Source: OpenAI's whisper, `transcribe`. */
    async *run(job, signal, onPrefill) {
      check(job, abilities);
      signal.throwIfAborted();
      const { task, prompt = '', temperature = 0, times } = job;
      const jobOptions = { task, prompt, temperature, words: times.includes('word') };
      const start = { segments: [], position: 0, language: job.language ?? null, previous: null };
      let progress: TranscriptionProgress | typeof start = job.progress ?? start;
      const sound = reader.read(job.file, signal);
      const window = sampleWindow(sound, signal);
      try {
        await window.skip(progress.position);
        let samples = await window.fill();
        onPrefill?.();
        yield { type: 'accepted', fingerprint };
        for (; samples.length > 0; samples = await window.fill()) {
          if (!samples.some((sample) => Math.abs(sample) > AUDIBLE)) {
            await window.skip(samples.length / SAMPLE_RATE);
            continue;
          }
          const { segments, language, previous } = progress;
          const options = { ...jobOptions, position: window.position, language, previous };
          const result = await transcribe(samples, options, signal);
          if (!result) throw notNumbers();
          const added = result.segments.map((segment, at) => ({ id: segments.length + at, ...segment }));
          await window.skip(result.nextStart);
          progress = {
            segments: [...segments, ...added],
            position: window.position,
            language: result.language,
            previous: result.previous,
          };
          yield { type: 'delta', text: added.map(({ text }) => text).join(''), progress };
        }
        const { segments, language } = progress;
        const usage = {
          promptTokens: Math.ceil(window.seconds * SOUND_TOKENS_A_SECOND),
          cachedTokens: 0,
          completionTokens: segments.reduce((sum, { tokens }) => sum + tokens.length, 0),
        };
        const transcript = { language: language ?? 'en', seconds: window.seconds, segments };
        yield { type: 'done', transcript, usage };
      } finally {
        void sound.return();
      }
    },
    async unload() {
      reader.end();
      worker.end();
    },
  };
}

/** Fields that only servers support, with the reason. Ignoring them would give a wrong answer. */
const REFUSED = new Map([
  ['include[]', 'log probabilities of a transcription are in `verbose_json`'],
  ['known_speaker_names[]', 'speakers are not distinguished'],
]);

/** @throws ServiceError 400 naming the field */
function check(
  { task, language, times, others }: TranscriptionJob,
  { languages: known, timesWords }: WhisperAbilities,
): void {
  for (const [name] of others) {
    const reason = REFUSED.get(name);
    if (reason !== undefined) throw unsupported(name, `cannot be used here: ${reason}`);
  }
  if (times.includes('word') && !timesWords) {
    const rule =
      "cannot be `word`: this model's files lack `cross_attentions`. Use segment, or weights exported with them, such as onnx-community/whisper-tiny_timestamped";
    throw unsupported('timestamp_granularities[]', rule);
  }
  if (known.length === 0 && task === 'translate')
    throw unsupported('model', 'cannot translate: it supports only English. Use a multilingual model');
  const supported = known.length === 0 ? ['en'] : known;
  if (language !== undefined && !supported.includes(language)) {
    const rule = `${language} is not supported by this model. It supports ${supported.join(', ')}`;
    throw unsupported('language', rule);
  }
}
