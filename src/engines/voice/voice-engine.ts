import type { Remote } from 'comlink';

import { invalidField, notNumbers, unsupported } from '#base';
import type { Engine, HelperWorker } from '#engine-kit';
import { estimateTokens, type SpeechFormat, type SpeechJob } from '#jobs';
import { findUnspeakable, toSpeakable } from '#phonemes';
import type { voiceWorker } from './voice-worker.ts';

const MIN_SPEED = 0.5;
const MAX_SPEED = 2;

/** Letters, digits, and signs that have a name. */
const SPEAKABLE = /[\p{L}\p{N}%&+@=$€£#~^<>]/u;

/** Text to speech, piece by piece of each sentence. @param voices file of each voice */
export function voiceEngine(
  worker: HelperWorker<typeof voiceWorker>,
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
      const start = { sentences: 0, pieces: 0, seconds: 0 };
      let { sentences: at, pieces: spoken, seconds } = job.progress ?? start;
      const { format, speed } = job;
      const sentences = await call((voice) => voice.begin(text, format, seconds), signal);
      onPrefill?.();
      yield { type: 'accepted', fingerprint };
      for (; at < sentences.length; at++, spoken = 0) {
        const sentence = sentences[at] ?? '';
        const pieces = await call((voice) => voice.read(sentence), signal);
        for (const piece of pieces.slice(spoken)) {
          const sound = await call((voice) => voice.speak(piece, file, speed), signal);
          if (!sound) throw notNumbers();
          seconds += sound.seconds;
          const progress = { sentences: at, pieces: ++spoken, seconds };
          yield { type: 'delta', ...sound, text: spoken === 1 ? sentence : '', progress };
        }
      }
      if (seconds === 0) throw invalidField('input', 'has nothing that this voice can speak');
      const usage = { promptTokens: estimateTokens(job.text.length), cachedTokens: 0, completionTokens: 0 };
      yield { type: 'done', usage };
    },
    unload: async () => worker.end(),
  };
}
