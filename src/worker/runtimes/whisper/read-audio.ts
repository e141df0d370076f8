import {
  ADTS,
  AudioSample,
  AudioSampleSink,
  BlobSource,
  FLAC,
  getDecodableAudioCodecs,
  Input,
  type InputAudioTrack,
  MATROSKA,
  MP3,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny';

import { requestError, ServiceError } from '../../../errors/service-error.ts';
import type { DecodeAudio } from '../../../protocol/worker-control.ts';
import { withTimeout } from '../../../util/async.ts';
import { Resampler } from './resampler.ts';
import type { SampleSource } from './transcribe.ts';
import { SAMPLE_RATE } from './whisper-model.ts';

const FORMATS = [WAVE, MP3, MP4, QTFF, OGG, FLAC, WEBM, MATROSKA, ADTS];
const FORMAT_NAMES = 'flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav and webm';
const MAX_SECONDS = 2 * 60 * 60;
/** Of a whole file's samples as the page's decoder holds them: 11 minutes of stereo at 48 kHz. */
const MAX_BYTES_IN_PAGE = 256 * 1024 * 1024;
/** For the page's decoder, which may never answer. `whisper-worker.ts` waits longer for the first samples. */
const MAX_MS_IN_PAGE = 60_000;
/** Shorter gaps are rounding of the times. */
const MIN_GAP_SECONDS = 0.05;
const MAX_CHANNELS = 32;
/** Far below speech. A piece of the file has some thousand samples, which must not be minutes. */
const MIN_RATE = 1000;
const MAX_RATE = 384_000;

export interface Audio extends SampleSource {
  /** Seconds that have been read. */
  readonly seconds: number;
  close(): void;
}

/**
 * The sound of a file, in one channel at 16 kHz, decoded as it is read: at most a second of it is in memory, and what the
 * browser's decoder holds. What the worker cannot decode, the page does, as a whole and within a bound.
 * @throws ServiceError 400: no sound, too long, or a codec that this browser lacks
 */
export async function readAudio(file: Blob, decodeInPage: DecodeAudio): Promise<Audio> {
  if (file.size === 0) throw refuse('is empty. Send a file of sound', 'invalid_value');
  const input = new Input({ source: new BlobSource(file), formats: FORMATS });
  const track = await input.getPrimaryAudioTrack().catch(() => {
    throw refuse(`is damaged, or no sound in a format that can be read: ${FORMAT_NAMES}`, 'invalid_value');
  });
  if (!track) throw refuse('has no sound in it', 'invalid_value');
  const { numberOfChannels, sampleRate } = track;
  if (numberOfChannels > MAX_CHANNELS || sampleRate > MAX_RATE || sampleRate < MIN_RATE) {
    throw refuse(
      `has ${numberOfChannels} channels at ${sampleRate} Hz, which is out of bounds`,
      'invalid_value',
    );
  }
  // A format without an index is decoded to see: the limit holds there too.
  const seconds = await track.computeDuration().catch(() => 0);
  if (seconds > MAX_SECONDS) throw tooLong();
  if ((isPcm(track.codec) || !isWebKitGtk()) && (await track.canDecode()))
    return new DecodedAudio(track, () => input.dispose());
  input.dispose();
  const codec = track.codec ?? 'an unknown codec';
  const most = MAX_BYTES_IN_PAGE / (Float32Array.BYTES_PER_ELEMENT * numberOfChannels * sampleRate);
  if (seconds > most) {
    const minutes = Math.floor(most / 60);
    const rule = `is in ${codec}, of which this browser decodes at most ${minutes} minutes. Split it`;
    throw refuse(rule, 'invalid_value');
  }
  const audio = await withTimeout(decodeInPage(file), MAX_MS_IN_PAGE);
  if (!audio) {
    const rule = `is in ${codec}, which this page did not decode within ${MAX_MS_IN_PAGE / 1000} s. Send it as wav`;
    throw refuse(rule, 'invalid_value');
  }
  if ('samples' in audio) return new PageSamples(audio.samples);
  throw await undecodable(codec, audio.plays);
}

const isPcm = (codec: string | null): boolean => codec !== null && /^pcm|law$/.test(codec);

/** It reports that it decodes mp3 in a worker, and then its process ends, and with it the page. */
const isWebKitGtk = (): boolean => /Linux.*AppleWebKit\/(?!.*Chrom)/.test(navigator.userAgent);

async function undecodable(codec: string, playsInPage: readonly string[]): Promise<ServiceError> {
  const able = isWebKitGtk() ? [] : await getDecodableAudioCodecs();
  const others = able.filter((each) => !each.startsWith('pcm') && !each.endsWith('law'));
  const known = [...new Set(['wav', ...others, ...playsInPage])].join(', ');
  return refuse(
    `is in ${codec}, and damaged, or of a kind that this browser cannot decode. It decodes ${known}`,
    'unsupported_value',
  );
}

const refuse = (rule: string, code: 'invalid_value' | 'unsupported_value'): ServiceError =>
  requestError(400, `\`file\` ${rule}.`, code, 'file');

const tooLong = (): ServiceError => refuse('is longer than 2 hours. Split it', 'invalid_value');

/** Sound that the page has decoded. */
class PageSamples implements Audio {
  readonly #samples: Int16Array;
  #at = 0;

  constructor(samples: Int16Array) {
    this.#samples = samples;
  }

  get seconds(): number {
    return this.#at / SAMPLE_RATE;
  }

  async next(): Promise<Float32Array<ArrayBuffer> | null> {
    const piece = this.#samples.subarray(this.#at, this.#at + SAMPLE_RATE);
    this.#at += piece.length;
    if (this.seconds > MAX_SECONDS) throw tooLong();
    return piece.length === 0 ? null : Float32Array.from(piece, (sample) => sample / 32_768);
  }

  close(): void {}
}

class DecodedAudio implements Audio {
  readonly #samples: AsyncGenerator<AudioSample, void, unknown>;
  readonly #dispose: () => void;
  readonly #resampler: Resampler;
  /** Of the source, in seconds from its first sample. */
  #origin: number | null = null;
  #position = 0;
  #read = 0;
  #held: AudioSample | null = null;
  #ended = false;

  constructor(track: InputAudioTrack, dispose: () => void) {
    this.#samples = new AudioSampleSink(track).samples();
    this.#resampler = new Resampler(track.sampleRate);
    this.#dispose = dispose;
  }

  get seconds(): number {
    return this.#read / SAMPLE_RATE;
  }

  async next(): Promise<Float32Array<ArrayBuffer> | null> {
    if (this.#ended) return null;
    const piece = await this.#nextPiece();
    const samples = piece ?? this.#resampler.end();
    if (!piece) this.#ended = true;
    this.#read += samples.length;
    if (this.seconds > MAX_SECONDS) throw tooLong();
    return samples;
  }

  close(): void {
    this.#held?.close();
    void this.#samples.return();
    this.#dispose();
  }

  async #nextPiece(): Promise<Float32Array<ArrayBuffer> | null> {
    const sample = this.#held ?? (await this.#decode());
    this.#held = null;
    if (!sample) return null;
    this.#origin ??= sample.timestamp;
    const gap = sample.timestamp - this.#origin - this.#position;
    if (gap > MIN_GAP_SECONDS) {
      // Silence that the file leaves out, a second at a time.
      this.#held = sample;
      const seconds = Math.min(gap, 1);
      this.#position += seconds;
      return this.#resampler.push(new Float32Array(Math.round(seconds * sample.sampleRate)));
    }
    this.#position += sample.duration;
    try {
      return this.#resampler.push(mono(sample));
    } finally {
      sample.close();
    }
  }

  async #decode(): Promise<AudioSample | null> {
    try {
      const { value, done } = await this.#samples.next();
      return done ? null : value;
    } catch (error) {
      console.warn('localtext: a file of sound could not be decoded', error);
      throw refuse(`is damaged after ${this.#position.toFixed(1)} s`, 'invalid_value');
    }
  }
}

/** The mean of all channels. */
function mono(sample: AudioSample): Float32Array<ArrayBuffer> {
  const { numberOfFrames: length, numberOfChannels: channels } = sample;
  const mixed = new Float32Array(length);
  const channel = new Float32Array(length);
  for (let planeIndex = 0; planeIndex < channels; planeIndex++) {
    sample.copyTo(channel, { planeIndex, format: 'f32-planar' });
    for (let at = 0; at < length; at++) mixed[at] = (mixed[at] ?? 0) + (channel[at] ?? 0) / channels;
  }
  return mixed;
}
