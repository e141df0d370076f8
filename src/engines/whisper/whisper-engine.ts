import { proxy, transfer } from 'comlink';

import { engineCrashed } from '../../errors/engine-errors.ts';
import { ServiceError, unsupported } from '../../errors/service-error.ts';
import type { TranscriptionEvent, TranscriptionJob } from '../../jobs/transcription.ts';
import { Channel } from '../../util/async.ts';
import type { Engine } from '../engine.ts';
import type { ModelWorker } from '../model-worker.ts';
import type { SoundReader } from './sound-reader.ts';
import type { Finished, Pull, Step, WhisperAbilities, whisperWorker } from './whisper-worker.ts';

/** Time in which the worker must stop after an abort; computing may take any time. */
const STOP_TIMEOUT_MS = 60_000;

/** The encoder's states for a second of sound. OpenAI does not say what it counts as the tokens of sound. */
const AUDIO_TOKENS = 50;

/** The parts of the worker that a transcription uses. */
type Calls = Pick<ModelWorker<typeof whisperWorker>, 'call' | 'end'>;

type Reader = Pick<SoundReader, 'read' | 'end'>;

/** Whisper in a worker. */
export class WhisperEngine implements Engine<'transcription'> {
  readonly kind = 'transcription';
  readonly fingerprint: string;
  readonly slots = 1;
  readonly facts = {};
  readonly #worker: Calls;
  readonly #reader: Reader;
  readonly #abilities: WhisperAbilities;

  constructor(worker: Calls, reader: Reader, abilities: WhisperAbilities, fingerprint: string) {
    this.#worker = worker;
    this.#reader = reader;
    this.#abilities = abilities;
    this.fingerprint = fingerprint;
  }

  async *run(
    job: TranscriptionJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<TranscriptionEvent, void, undefined> {
    const began = performance.now();
    this.#check(job);
    signal.throwIfAborted();
    const steps = new Channel<Step | { seconds: number }>();
    const { run, stop } = this.#start(job, steps, signal);
    signal.addEventListener('abort', stop, { once: true });
    let sent = job.progress?.segments.length ?? 0;
    let progress = job.progress ?? null;
    let accepted = false;
    let ended = false;
    try {
      for (let step = await steps.take(); step; step = await steps.take()) {
        signal.throwIfAborted();
        if (step === 'read') {
          if (accepted) continue;
          accepted = true;
          onPrefill?.();
          yield { type: 'accepted', fingerprint: this.fingerprint };
        } else if (typeof step === 'object' && 'segments' in step) {
          progress = step;
          const text = step.segments.slice(sent).map((segment) => segment.text);
          yield { type: 'delta', text: text.join(''), progress: step };
          sent = step.segments.length;
        } else if (typeof step === 'object') {
          const { seconds } = step;
          const { segments = [], language = job.language ?? 'en' } = progress ?? {};
          const usage = {
            promptTokens: Math.ceil(seconds * AUDIO_TOKENS),
            cachedTokens: 0,
            completionTokens: segments.reduce((sum, { tokens }) => sum + tokens.length, 0),
          };
          const timings = { queueMs: 0, computeMs: performance.now() - began };
          ended = true;
          yield { type: 'done', transcript: { language, seconds, segments }, usage, timings };
        }
      }
      ended = true;
    } catch (error) {
      signal.throwIfAborted();
      ended = true;
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      if (!ended) stop();
      // The engine is free again only then.
      await run;
    }
  }

  async unload(): Promise<void> {
    this.#reader.end();
    this.#worker.end();
  }

  /** @returns `run`, which never rejects, and `stop`, after which it resolves */
  #start(
    job: TranscriptionJob,
    steps: Channel<Step | { seconds: number }>,
    signal: AbortSignal,
  ): { run: Promise<void>; stop: () => void } {
    const { file, task, language = null, prompt = '', temperature = 0, times, progress = null } = job;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopped = false;
    let unread = false;
    const onStep = async (step: Step) => {
      if (!stopped) steps.push(step);
    };
    const stop = () => {
      stopped = true;
      timer ??= setTimeout(
        () => this.#worker.end(engineCrashed('a transcription did not stop')),
        STOP_TIMEOUT_MS,
      );
      void this.#worker.call((model) => model.stop()).catch(() => undefined);
    };
    const sound = this.#reader.read(file, signal);
    const pull: Pull = async () => {
      try {
        const { value } = await sound.next();
        return value ? transfer(value, [value.buffer]) : null;
      } catch (error) {
        // The worker fails with it too, and loses its fields.
        unread = true;
        steps.fail(error);
        throw error;
      }
    };
    const options = { language, task, prompt, temperature, words: times.includes('word'), progress };
    const run = this.#worker
      .call<Finished>((model) => model.transcribe(proxy(pull), options, proxy(onStep)))
      .then((finished) => {
        if (!('error' in finished)) return steps.push(finished);
        if (unread) return;
        const { error } = finished;
        return steps.fail(error.status < 500 ? new ServiceError(error) : engineCrashed(error));
      })
      .catch((error: unknown) => steps.fail(error))
      .finally(() => {
        clearTimeout(timer);
        steps.end();
        void sound.return();
      });
    return { run, stop };
  }

  /** @throws ServiceError 400 naming the field */
  #check({ task, language, times, others }: TranscriptionJob): void {
    for (const [name] of others) {
      const reason = REFUSED.get(name);
      if (reason !== undefined) throw unsupported(name, `cannot be used here: ${reason}`);
    }
    const { languages: known, timesWords } = this.#abilities;
    if (times.includes('word') && !timesWords) {
      throw unsupported(
        'timestamp_granularities[]',
        "cannot be `word`: this model's files lack `cross_attentions`. Use segment, or weights exported with them, such as onnx-community/whisper-tiny_timestamped",
      );
    }
    if (known.length === 0 && task === 'translate')
      throw unsupported('model', 'cannot translate: it supports only English. Use a multilingual model');
    const able = known.length === 0 ? ['en'] : known;
    if (language !== undefined && !able.includes(language))
      throw unsupported(
        'language',
        `${language} is not supported by this model. It supports ${able.join(', ')}`,
      );
  }
}

/** Fields that would change the answer, which only servers can do. */
const REFUSED = new Map([
  ['include[]', 'log probabilities of a transcription are in `verbose_json`'],
  ['known_speaker_names[]', 'speakers are not distinguished'],
  ['known_speaker_references[]', 'speakers are not distinguished'],
]);
