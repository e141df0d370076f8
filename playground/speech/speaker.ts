import { Stream } from 'openai/streaming';
import { loadFor } from '../client/downloads.ts';
import { openai } from '../client/openai.ts';
import { voiceModel } from '../client/speech-model.ts';
import { problemOf } from '../problem.ts';
import { endOfSentences, hasSound } from './cut-sentences.ts';
import { speechProblem, spoken, voiceSettings, type Spoken } from './spoken.ts';

/** Rate of `pcm`, in Hz. */
const RATE = 24_000;

/** `text` is localtext's: the sentence that the sound says. Servers send none. */
interface SpeechStreamEvent {
  type: string;
  audio?: string;
  text?: string;
}

/** Plays a text sentence by sentence, while /v1 speaks the next one. The text may still grow. */
class Speaker {
  readonly #id: string;
  readonly #context = new AudioContext({ sampleRate: RATE });
  readonly #stopped = new AbortController();
  /** Requests, one after another. */
  #requests: Promise<void> = Promise.resolve();
  /** Characters requested so far. */
  #requested = 0;
  /** When the last sentence ends, in the context's time. */
  #endsAt = 0;
  #playing: Promise<unknown> = Promise.resolve();

  constructor(id: string) {
    this.#id = id;
    spoken.value = { id, lines: [], current: -1, paused: false };
    speechProblem.value = null;
    // Rejects if the speech is stopped before the sound starts.
    this.#context.resume().catch(() => undefined);
  }

  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Speaks the complete sentences of a text whose beginning was given before. */
  grow(text: string): void {
    const end = endOfSentences(text, this.#requested);
    this.#add(text.slice(this.#requested, end));
    this.#requested = end;
  }

  /** Speaks the rest. @returns whether all was heard */
  async finish(text: string): Promise<boolean> {
    this.#add(text.slice(this.#requested));
    this.#requested = text.length;
    const ended = new Promise<void>((resolve) => this.signal.addEventListener('abort', () => resolve()));
    try {
      await Promise.race([this.#requests, ended]);
      await Promise.race([this.#playing, ended]);
      return !this.signal.aborted;
    } catch (error) {
      if (!this.signal.aborted) speechProblem.value = problemOf(error);
      return false;
    } finally {
      this.stop();
    }
  }

  stop(): void {
    if (this.signal.aborted) return;
    this.#stopped.abort();
    void this.#context.close();
    if (active === this) {
      active = null;
      spoken.value = null;
    }
  }

  pause(paused: boolean): void {
    (paused ? this.#context.suspend() : this.#context.resume()).catch(() => undefined);
    this.#show({ paused });
  }

  #show(change: Partial<Spoken>): void {
    if (spoken.peek()?.id === this.#id && spoken.value) spoken.value = { ...spoken.value, ...change };
  }

  #add(text: string): void {
    if (!hasSound(text)) return;
    this.#requests = this.#requests.then(() => this.#request(text));
    // `finish()` reports it.
    this.#requests.catch(() => undefined);
  }

  async #request(input: string): Promise<void> {
    this.signal.throwIfAborted();
    const model = voiceModel.peek() ?? '';
    // Shows the progress of a download that the request itself would only wait for.
    void loadFor(model, () => this.stop());
    const { voice, speed } = voiceSettings.peek();
    const client = await openai();
    const response = await client.audio.speech.create(
      // OpenAI's client requires a voice; /v1 has a default.
      {
        model,
        input,
        speed,
        response_format: 'pcm',
        stream_format: 'sse',
        ...(voice !== '' && { voice }),
      } as Parameters<typeof client.audio.speech.create>[0],
      { signal: this.signal },
    );
    const events = Stream.fromSSEResponse<SpeechStreamEvent>(response, this.#stopped);
    for await (const { audio, text = '' } of events) if (audio) this.#play(audio, text);
  }

  #play(audio: string, text: string): void {
    const bytes = Uint8Array.from(atob(audio), (character) => character.charCodeAt(0));
    const samples = Float32Array.from(new Int16Array(bytes.buffer), (sample) => sample / 32_768);
    const buffer = this.#context.createBuffer(1, samples.length, RATE);
    buffer.copyToChannel(samples, 0);
    const source = this.#context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.#context.destination);
    const before = this.#playing;
    const at = spoken.peek()?.lines.length ?? 0;
    this.#show({ lines: [...(spoken.peek()?.lines ?? []), text] });
    void before.then(() => this.#show({ current: at }));
    this.#playing = new Promise((resolve) => source.addEventListener('ended', resolve));
    const starts = Math.max(this.#endsAt, this.#context.currentTime);
    source.start(starts);
    this.#endsAt = starts + buffer.duration;
  }
}

export type { Speaker };

/** One speech at a time. */
let active: Speaker | null = null;

/** Begins a speech, which ends the one before. */
export function beginSpeech(id: string): Speaker {
  active?.stop();
  active = new Speaker(id);
  return active;
}

export const speak = async (id: string, text: string): Promise<boolean> => beginSpeech(id).finish(text);

export const stopSpeech = (): void => active?.stop();

export const pauseSpeech = (paused: boolean): void => active?.pause(paused);
