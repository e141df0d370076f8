import { signal } from '@preact/signals';
import { announce } from '../announce.ts';
import { messageOf } from '../format.ts';
import { decodeSound } from './decode-sound.ts';

/** Length at which a recording stops by itself. */
const MAX_MS = 10 * 60_000;
/** Level at and below which the meter is empty, relative to full scale. */
const MIN_DECIBELS = -60;

/** Insecure pages have no microphone. */
export const canRecord = (): boolean => 'mediaDevices' in navigator && 'MediaRecorder' in globalThis;

interface Session {
  recorder: MediaRecorder;
  analyser: AnalyserNode;
  close(): void;
}

/** Records from the microphone, for which the browser asks the user when it starts. */
export class Recorder {
  readonly phase = signal<'idle' | 'asking' | 'recording'>('idle');
  /** Why it could not record. */
  readonly problem = signal<string | null>(null);
  readonly #onRecorded: (samples: Float32Array<ArrayBuffer>) => void;
  #session: Session | null = null;
  /** Answers to an earlier start are dropped. */
  #starts = 0;

  readonly #announce: (text: string) => void;

  /**
   * @param onRecorded given the samples when it stops; not when it is cancelled
   * @param tell announces the start and the end
   */
  constructor(onRecorded: (samples: Float32Array<ArrayBuffer>) => void, tell = announce) {
    this.#onRecorded = onRecorded;
    this.#announce = tell;
  }

  async start(): Promise<void> {
    if (this.phase.peek() !== 'idle') return;
    const start = ++this.#starts;
    this.problem.value = null;
    this.phase.value = 'asking';
    // Create it before the wait: some browsers keep a context silent that is created without a click.
    const context = new AudioContext();
    let stream: MediaStream | undefined;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const session = open(context, stream, (blob) => void this.#recorded(session, blob));
      if (start !== this.#starts) {
        session.close();
        return;
      }
      this.#session = session;
      const timer = setTimeout(() => this.stop(), MAX_MS);
      session.recorder.addEventListener('stop', () => clearTimeout(timer));
      this.phase.value = 'recording';
      this.#announce('Recording. Press Escape to cancel.');
    } catch (error) {
      for (const track of stream?.getTracks() ?? []) track.stop();
      void context.close();
      if (start !== this.#starts) return;
      this.phase.value = 'idle';
      this.problem.value = whyNot(error);
    }
  }

  stop(): void {
    const { recorder } = this.#session ?? {};
    if (recorder?.state === 'recording') recorder.stop();
  }

  cancel(): void {
    if (this.phase.peek() === 'idle') return;
    this.#starts++;
    this.#end();
    this.#announce('Recording cancelled.');
  }

  /** Current level, 0 to 1. */
  level(): number {
    const { analyser } = this.#session ?? {};
    if (!analyser) return 0;
    const samples = new Float32Array(analyser.fftSize);
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample ** 2, 0) / samples.length;
    return Math.min(1, Math.max(0, 1 - (10 * Math.log10(power + 1e-12)) / MIN_DECIBELS));
  }

  async #recorded(session: Session, blob: Blob): Promise<void> {
    const isCancelled = (): boolean => this.#session !== session;
    if (isCancelled()) return;
    try {
      const samples = await decodeSound(blob);
      if (isCancelled()) return;
      this.#end();
      this.#onRecorded(samples);
    } catch (error) {
      if (isCancelled()) return;
      this.#end();
      this.problem.value = `The recording could not be read: ${messageOf(error)}`;
    }
  }

  #end(): void {
    const session = this.#session;
    this.#session = null;
    this.phase.value = 'idle';
    session?.close();
  }
}

function open(context: AudioContext, stream: MediaStream, onStop: (blob: Blob) => void): Session {
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(analyser);
  const recorder = new MediaRecorder(stream);
  const chunks: Blob[] = [];
  recorder.addEventListener('dataavailable', ({ data }) => chunks.push(data));
  recorder.addEventListener('stop', () => onStop(new Blob(chunks, { type: recorder.mimeType })));
  // It stops by itself when the microphone is unplugged.
  recorder.start();
  return {
    recorder,
    analyser,
    close: () => {
      if (recorder.state !== 'inactive') recorder.stop();
      for (const track of stream.getTracks()) track.stop();
      void context.close();
    },
  };
}

function whyNot(error: unknown): string {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError')
    return 'The browser did not allow the microphone. Allow it for this site in the browser’s settings, and try again.';
  if (name === 'NotFoundError') return 'No microphone was found. Connect one, and try again.';
  if (name === 'NotReadableError')
    return 'The microphone could not be opened. Another program may be using it.';
  return `The microphone could not be opened: ${messageOf(error)}`;
}
