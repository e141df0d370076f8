import type { Remote } from 'comlink';

import { invalidField, ServiceError, unsupported } from '../../errors/service-error.ts';
import type { DecodeAudio } from '../../protocol/worker-control.ts';
import { abortable, withTimeout } from '../../util/async.ts';
import { ModelWorker } from '../model-worker.ts';
import type { ForPage, Sound } from './read-audio.ts';
import { SAMPLE_RATE } from './resampler.ts';
import type { Refused, soundWorker } from './sound-worker.ts';

const START_TIMEOUT_MS = 20_000;
/** Time to open a file, or to decode a second of it. A damaged file may not be read to its end, and its decoder may never answer. */
const READ_TIMEOUT_MS = 10_000;
/** The page decodes a file as a whole. */
const PAGE_TIMEOUT_MS = 60_000;

type RemoteSound = Remote<typeof soundWorker>;
type Worker = ModelWorker<typeof soundWorker>;

/** Reads files of sound, one at a time, in a worker that ends with a file that is not read. The model stays loaded. */
export class SoundReader {
  readonly #decodeInPage: DecodeAudio;
  #worker: Promise<Worker> | null = null;
  readonly #ended = new AbortController();

  /** @param decodeInPage decodes what the worker cannot; default: nothing does */
  constructor(decodeInPage: DecodeAudio = async () => ({ plays: [] })) {
    this.#decodeInPage = decodeInPage;
    this.#start().catch(() => undefined);
  }

  /** @throws ServiceError 400: no sound, damaged, too long, or a codec that this browser lacks; the signal's reason */
  async *read(file: Blob, signal: AbortSignal): Sound {
    const { forPage } = await this.#call((sound) => sound.open(file), signal);
    if (forPage) return yield* this.#decoded(file, forPage, signal);
    try {
      for (;;) {
        const { samples } = await this.#call((sound) => sound.next(), signal);
        if (!samples) return;
        yield samples;
      }
    } finally {
      this.#worker?.then((worker) => worker.call((sound) => sound.close())).catch(() => undefined);
    }
  }

  end(): void {
    this.#ended.abort(new Error('the model was unloaded'));
    this.#worker?.then((worker) => worker.end()).catch(() => undefined);
  }

  async *#decoded(file: Blob, { codec, decodes }: ForPage, signal: AbortSignal): Sound {
    const audio = await abortable(withTimeout(this.#decodeInPage(file), PAGE_TIMEOUT_MS), signal);
    if (!audio) throw unreadable(PAGE_TIMEOUT_MS);
    if ('plays' in audio) throw undecodable(codec, [...decodes, ...audio.plays]);
    const { samples } = audio;
    for (let at = 0; at < samples.length; at += SAMPLE_RATE)
      yield Float32Array.from(samples.subarray(at, at + SAMPLE_RATE), (sample) => sample / 32_768);
  }

  async #call<T extends object>(
    call: (sound: RemoteSound) => Promise<T | Refused>,
    signal: AbortSignal,
  ): Promise<T> {
    const worker = await abortable(this.#start(), signal);
    const answer = await abortable(withTimeout(worker.call(call), READ_TIMEOUT_MS), signal).catch(
      (error: unknown) => {
        this.#drop(worker);
        signal.throwIfAborted();
        this.#ended.signal.throwIfAborted();
        if (error instanceof ServiceError && error.code === 'worker_blocked') throw error;
        throw invalidField('file', 'is damaged, or takes more memory to read than the browser has');
      },
    );
    if (!answer) {
      this.#drop(worker);
      throw unreadable(READ_TIMEOUT_MS);
    }
    if ('error' in answer) throw new ServiceError(answer.error);
    return answer;
  }

  /** Terminates a worker, as no message reaches one whose thread is busy. */
  #drop(worker: Worker): void {
    worker.end();
    this.#worker = null;
  }

  #start(): Promise<Worker> {
    const starting = (this.#worker ??= ModelWorker.open<typeof soundWorker>(
      'sound',
      async () => undefined,
      AbortSignal.any([this.#ended.signal, AbortSignal.timeout(START_TIMEOUT_MS)]),
    ));
    starting.catch(() => {
      if (this.#worker === starting) this.#worker = null;
    });
    return starting;
  }
}

const unreadable = (ms: number): ServiceError =>
  invalidField(
    'file',
    `gave no sound for ${ms / 1000} s. It is damaged, or in a format that this browser decodes slowly. Send it as wav`,
  );

function undecodable(codec: string, decodes: readonly string[]): ServiceError {
  const others = decodes.filter((each) => !each.startsWith('pcm') && !each.endsWith('law'));
  const known = [...new Set(['wav', ...others])].join(', ');
  const rule = `is in ${codec}, and damaged, or of a kind that this browser cannot decode. It decodes ${known}`;
  return unsupported('file', rule);
}
