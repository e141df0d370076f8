import { engineCrashed, invalidField, ServiceError, unsupported } from '#base';
import type { Engine, HelperWorker } from '#engine-kit';
import type { Events, SpeechJob } from '#jobs';
import { findUnspeakable, toSpeakable } from '#phonemes';
import type { voiceWorker } from './voice-worker.ts';

type Calls = Pick<HelperWorker<typeof voiceWorker>, 'call' | 'end'>;

/** Text to speech, sentence by sentence. */
export class VoiceEngine implements Engine<'speech'> {
  readonly kind = 'speech';
  readonly fingerprint: string;
  readonly slots = 1;
  readonly facts = {};
  readonly #worker: Calls;
  /** Graph of each voice. */
  readonly #graphs: ReadonlyMap<string, string>;

  constructor(worker: Calls, graphs: ReadonlyMap<string, string>, fingerprint: string) {
    this.#worker = worker;
    this.#graphs = graphs;
    this.fingerprint = fingerprint;
  }

  async *run(job: SpeechJob, signal: AbortSignal, onPrefill?: () => void): Events<'speech'> {
    const graph = this.#graphs.get(job.voice);
    if (graph === undefined)
      throw unsupported('voice', `must be a voice of this model: ${[...this.#graphs.keys()].join(', ')}`);
    const text = toSpeakable(job.text);
    const letters = findUnspeakable(text);
    if (letters !== null)
      throw unsupported(
        'input',
        `cannot be spoken: this model reads English, and "${letters}" is in another script`,
      );
    const sentences = await this.#call((voice) => voice.sentences(text), signal);
    onPrefill?.();
    yield { type: 'accepted', fingerprint: this.fingerprint };
    let samplesInAll = 0;
    const from = job.progress?.sentences ?? 0;
    for (const [at, sentence] of sentences.entries()) {
      if (at < from) continue;
      const samples = await this.#call((voice) => voice.speak(sentence, graph, job.speed), signal);
      samplesInAll += samples.length;
      if (samples.length > 0)
        yield { type: 'delta', samples, text: sentence, progress: { sentences: at + 1 } };
    }
    if (samplesInAll === 0 && from === 0)
      throw invalidField('input', 'must have something that can be spoken: letters or digits');
    const usage = { promptTokens: job.text.length, cachedTokens: 0, completionTokens: 0 };
    yield { type: 'done', usage };
  }

  async unload(): Promise<void> {
    this.#worker.end();
  }

  async #call<T>(
    call: Parameters<Calls['call']>[0] & ((...args: never[]) => Promise<T>),
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    try {
      return (await this.#worker.call(call)) as T;
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : engineCrashed(error);
    } finally {
      signal.throwIfAborted();
    }
  }
}
