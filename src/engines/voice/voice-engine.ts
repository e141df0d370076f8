import type { Remote } from 'comlink';

import { engineCrashed, invalidField, ServiceError, unsupported } from '#base';
import type { Engine, HelperWorker } from '#engine-kit';
import { estimateTokens, type Events, type SpeechFormat, type SpeechJob } from '#jobs';
import { findUnspeakable, toSpeakable } from '#phonemes';
import type { voiceWorker } from './voice-worker.ts';

const MIN_SPEED = 0.5;
const MAX_SPEED = 2;

/** Letters, digits, and signs that have a name. */
const SPEAKABLE = /[\p{L}\p{N}%&+@=$€£#~^<>]/u;

type Calls = Pick<HelperWorker<typeof voiceWorker>, 'call' | 'end'>;

/** Text to speech, sentence by sentence. */
export class VoiceEngine implements Engine<'speech'> {
  readonly kind = 'speech';
  readonly fingerprint: string;
  readonly slots = 1;
  readonly traits = {};
  readonly #worker: Calls;
  /** File of each voice. */
  readonly #voices: ReadonlyMap<string, string>;

  /** Formats that the browser can write; null until the first speech. */
  #formats: SpeechFormat[] | null = null;

  constructor(worker: Calls, voices: ReadonlyMap<string, string>, fingerprint: string) {
    this.#worker = worker;
    this.#voices = voices;
    this.fingerprint = fingerprint;
  }

  async *run(job: SpeechJob, signal: AbortSignal, onPrefill?: () => void): Events<'speech'> {
    const { file, text } = await this.#check(job, signal);
    const from = job.progress?.sentences ?? 0;
    let seconds = job.progress?.seconds ?? 0;
    const { format, speed } = job;
    const sentences = await this.#call((voice) => voice.begin(text, format, seconds), signal);
    onPrefill?.();
    yield { type: 'accepted', fingerprint: this.fingerprint };
    for (let at = from; at < sentences.length; at++) {
      const sentence = sentences[at] ?? '';
      const sound = await this.#call((voice) => voice.speak(sentence, file, speed), signal);
      if (!sound) continue;
      seconds += sound.seconds;
      yield { type: 'delta', ...sound, text: sentence, progress: { sentences: at + 1, seconds } };
    }
    const usage = { promptTokens: estimateTokens(job.text.length), cachedTokens: 0, completionTokens: 0 };
    yield { type: 'done', usage };
  }

  /** @throws ServiceError 400 naming the field */
  async #check(
    { voice, text: written, speed, format }: SpeechJob,
    signal: AbortSignal,
  ): Promise<{ file: string; text: string }> {
    const file = voice === undefined ? [...this.#voices.values()][0] : this.#voices.get(voice);
    if (file === undefined)
      throw unsupported('voice', `must be a voice of this model: ${[...this.#voices.keys()].join(', ')}`);
    if (speed < MIN_SPEED || speed > MAX_SPEED)
      throw unsupported('speed', `must be from ${MIN_SPEED} to ${MAX_SPEED} for this model`);
    const text = toSpeakable(written);
    const letters = findUnspeakable(text);
    if (letters !== null)
      throw unsupported(
        'input',
        `cannot be spoken: this model reads English, and "${letters}" is in another script`,
      );
    if (!SPEAKABLE.test(text)) throw invalidField('input', 'must have something to speak: letters or digits');
    this.#formats ??= await this.#call((worker) => worker.formats(), signal);
    if (!this.#formats.includes(format))
      throw unsupported(
        'response_format',
        `cannot be ${format} in this browser. Use ${this.#formats.join(', ')}`,
      );
    return { file, text };
  }

  async unload(): Promise<void> {
    this.#worker.end();
  }

  async #call<T>(call: (voice: Remote<typeof voiceWorker>) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    try {
      return await this.#worker.call(call);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : engineCrashed(error);
    } finally {
      signal.throwIfAborted();
    }
  }
}
