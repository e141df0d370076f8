import type { Remote } from 'comlink';

import { engineCrashed, invalidField, ServiceError, unsupported } from '#base';
import type { Engine, HelperWorker } from '#engine-kit';
import { estimateTokens, type SpeechFormat, type SpeechJob } from '#jobs';
import { findUnspeakable, toSpeakable } from '#phonemes';
import type { voiceWorker } from './voice-worker.ts';

const MIN_SPEED = 0.5;
const MAX_SPEED = 2;

/** Letters, digits, and signs that have a name. */
const SPEAKABLE = /[\p{L}\p{N}%&+@=$€£#~^<>]/u;

type Calls = Pick<HelperWorker<typeof voiceWorker>, 'call' | 'end'>;

/** Text to speech, sentence by sentence. @param voices file of each voice */
export function voiceEngine(
  worker: Calls,
  voices: ReadonlyMap<string, string>,
  fingerprint: string,
): Engine<'speech'> {
  /** Formats that the browser can write; null until the first speech. */
  let formats: SpeechFormat[] | null = null;

  /** @throws ServiceError 400 naming the field */
  async function check(
    { voice, text: written, speed, format }: SpeechJob,
    signal: AbortSignal,
  ): Promise<{ file: string; text: string }> {
    const file = voice === undefined ? [...voices.values()][0] : voices.get(voice);
    if (file === undefined)
      throw unsupported('voice', `must be a voice of this model: ${[...voices.keys()].join(', ')}`);
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
    formats ??= await call((each) => each.formats(), signal);
    if (!formats.includes(format))
      throw unsupported('response_format', `cannot be ${format} in this browser. Use ${formats.join(', ')}`);
    return { file, text };
  }

  async function call<T>(
    ask: (voice: Remote<typeof voiceWorker>) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    try {
      return await worker.call(ask);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : engineCrashed(error);
    } finally {
      signal.throwIfAborted();
    }
  }

  return {
    kind: 'speech',
    fingerprint,
    slots: 1,
    traits: {},
    async *run(job, signal, onPrefill) {
      const { file, text } = await check(job, signal);
      const from = job.progress?.sentences ?? 0;
      let seconds = job.progress?.seconds ?? 0;
      const { format, speed } = job;
      const sentences = await call((voice) => voice.begin(text, format, seconds), signal);
      onPrefill?.();
      yield { type: 'accepted', fingerprint };
      for (let at = from; at < sentences.length; at++) {
        const sentence = sentences[at] ?? '';
        const sound = await call((voice) => voice.speak(sentence, file, speed), signal);
        if (!sound) continue;
        seconds += sound.seconds;
        yield { type: 'delta', ...sound, text: sentence, progress: { sentences: at + 1, seconds } };
      }
      if (seconds === 0) throw invalidField('input', 'has nothing that this voice can speak');
      const usage = { promptTokens: estimateTokens(job.text.length), cachedTokens: 0, completionTokens: 0 };
      yield { type: 'done', usage };
    },
    unload: async () => worker.end(),
  };
}
