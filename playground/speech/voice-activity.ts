/** Levels are those of `Recorder.level()`: 0 is −60 dB, 1 is full scale. */
const MIN_LEVEL = 0.3;
/** How far speech is above the room's noise: 12 dB. */
const ABOVE_NOISE = 0.2;
/** Shorter sounds are no speech. */
const MIN_SPEECH_MS = 250;
/** Silence that ends what is said. */
const END_MS = 1200;

/** Finds the beginning and the end of speech in the levels of a microphone. */
export class VoiceActivity {
  #noise = 1;
  #speechMs = 0;
  #silentMs = 0;
  #begun = false;

  /** Takes the level of the last `ms`. */
  take(level: number, ms: number): 'silence' | 'speech' | 'ended' {
    this.#noise = Math.min(this.#noise + 0.00002 * ms, level);
    const isLoud = level > Math.max(MIN_LEVEL, this.#noise + ABOVE_NOISE);
    this.#speechMs = isLoud ? this.#speechMs + ms : 0;
    this.#silentMs = isLoud ? 0 : this.#silentMs + ms;
    this.#begun ||= this.#speechMs >= MIN_SPEECH_MS;
    if (!this.#begun) return 'silence';
    return this.#silentMs >= END_MS ? 'ended' : 'speech';
  }
}
