import { proxy, type Remote } from 'comlink';

import { engineCrashed } from '../../../errors/engine-errors.ts';
import { requestError, ServiceError } from '../../../errors/service-error.ts';
import type {
  TranscriptionEvent,
  TranscriptionJob,
  TranscriptionProgress,
} from '../../../jobs/transcription.ts';
import { Channel, delay, withTimeout } from '../../../util/async.ts';
import type { Engine } from '../engine.ts';
import type { ModelWorker } from '../onnx/model-worker.ts';
import { contentType, countTokens, deltaEvent, doneEvent, formatWhole } from './answer-formats.ts';
import { type FormFields, parseFields } from './form-fields.ts';
import type { Finished, WhisperAbilities, WhisperHost, whisperWorker } from './whisper-worker.ts';

/** How long the worker may be busy, in milliseconds: with reading the file, and with a step of the model. */
const MAX_READING_MS = 10_000;
const MAX_STEP_MS = 60_000;
const PING_MS = 1000;

/** The parts of the worker that a transcription uses. */
type Calls = Pick<ModelWorker<WhisperHost, Remote<typeof whisperWorker>>, 'call' | 'end'>;

/** Whisper in a worker, and its answers in the formats of the API. */
export class WhisperEngine implements Engine<'transcription'> {
  readonly kind = 'transcription';
  readonly fingerprint: string;
  readonly slots = 1;
  readonly facts = {};
  readonly #worker: Calls;
  readonly #abilities: WhisperAbilities;

  constructor(worker: Calls, abilities: WhisperAbilities, fingerprint: string) {
    this.#worker = worker;
    this.#abilities = abilities;
    this.fingerprint = fingerprint;
  }

  async *run(
    job: TranscriptionJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<TranscriptionEvent, void, undefined> {
    const began = performance.now();
    const fields = parseFields(job.fields);
    this.#checkAbilities(job, fields);
    signal.throwIfAborted();
    const steps = new Steps();
    const run = this.#run(job, fields, steps);
    const stop = () => void this.#worker.call((model) => model.stop()).catch(() => undefined);
    signal.addEventListener('abort', stop, { once: true });
    let sent = job.progress?.segments.length ?? 0;
    let progress = job.progress ?? null;
    let ended = false;
    try {
      for (;;) {
        const step = await steps.take();
        signal.throwIfAborted();
        if (step === null || (typeof step === 'object' && 'error' in step)) {
          ended = true;
          if (step === null) throw engineCrashed('the transcription broke off');
          throw step.error.status < 500 ? new ServiceError(step.error) : engineCrashed(step.error);
        }
        if (step === 'sound') {
          onPrefill?.();
          yield { type: 'accepted', fingerprint: this.fingerprint, contentType: contentType(fields) };
        } else if ('segments' in step) {
          progress = step;
          const news = step.segments.slice(sent);
          yield { type: 'delta', text: fields.stream ? deltaEvent(news, sent === 0) : '', progress: step };
          sent = step.segments.length;
        } else {
          ended = true;
          const { segments = [], language = fields.language ?? 'en' } = progress ?? {};
          const transcript = { task: job.task, language, seconds: step.seconds, segments };
          const text = fields.stream ? doneEvent(transcript) : formatWhole(fields, transcript);
          const { input, output } = countTokens(transcript);
          const usage = { promptTokens: input, cachedTokens: 0, completionTokens: output };
          const timings = { queueMs: 0, computeMs: performance.now() - began };
          yield { type: 'done', text, usage, timings };
          return;
        }
      }
    } finally {
      signal.removeEventListener('abort', stop);
      if (!ended) stop();
      // The engine is free again only then.
      await run;
    }
  }

  async unload(): Promise<void> {
    this.#worker.end();
  }

  /** Never rejects. */
  async #run(
    { file, task, progress }: TranscriptionJob,
    { language, prompt, temperature, granularities }: FormFields,
    steps: Steps,
  ): Promise<void> {
    const words = granularities.includes('word');
    const options = { language, task, prompt, temperature, words, progress: progress ?? null };
    const onProgress = async (step: TranscriptionProgress | null) => {
      steps.hasSound = true;
      steps.push(step ?? 'sound');
    };
    const ended = new AbortController();
    void this.#watch(steps, ended.signal);
    try {
      steps.push(
        await this.#worker.call<Finished>((model) => model.transcribe(file, options, proxy(onProgress))),
      );
    } catch (error) {
      steps.fail(error);
    } finally {
      ended.abort();
    }
  }

  /**
   * The library that reads the file may never come to the end of a damaged one. No message reaches the worker then: it is
   * ended, and the next request loads the model again.
   */
  async #watch(steps: Steps, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const answered = this.#worker
        .call((model) => model.ping())
        .then(
          () => true,
          () => true,
        );
      for (let waited = 0; !ended.aborted && !(await withTimeout(answered, PING_MS)); waited += PING_MS) {
        if (waited < (steps.hasSound ? MAX_STEP_MS : MAX_READING_MS)) continue;
        steps.push({ error: endless().wire });
        this.#worker.end(engineCrashed('reading a file of sound did not end'));
        return;
      }
      await delay(PING_MS, ended).catch(() => undefined);
    }
  }

  #checkAbilities({ task }: TranscriptionJob, { language, granularities }: FormFields): void {
    const { languages: known, timesWords } = this.#abilities;
    if (granularities.includes('word') && !timesWords) {
      throw requestError(
        400,
        "`timestamp_granularities[]` cannot be `word`: this model's files lack `cross_attentions`. Use segment, or weights " +
          'exported with them, such as onnx-community/whisper-tiny_timestamped.',
        'unsupported_value',
        'timestamp_granularities[]',
      );
    }
    if (known.length === 0 && task === 'translate') {
      throw requestError(
        400,
        '`model` cannot translate: it knows English alone. Use a multilingual model.',
        'unsupported_value',
        'model',
      );
    }
    const able = known.length === 0 ? ['en'] : known;
    if (language === null || able.includes(language)) return;
    throw requestError(
      400,
      `\`language\` ${language} is not known to this model. It knows ${able.join(', ')}.`,
      'unsupported_value',
      'language',
    );
  }
}

class Steps extends Channel<TranscriptionProgress | 'sound' | Finished> {
  /** The file has been read far enough to know that it is sound. */
  hasSound = false;
}

const endless = (): ServiceError =>
  requestError(
    400,
    '`file` is damaged: reading it does not end. Send another file.',
    'invalid_value',
    'file',
  );
