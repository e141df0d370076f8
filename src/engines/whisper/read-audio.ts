import {
  ADTS,
  type AudioSample,
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

import { invalidField, type ServiceError, unsupported } from '../../errors/service-error.ts';
import type { DecodeAudio } from '../../protocol/worker-control.ts';
import { Resampler } from './resampler.ts';
import { SAMPLE_RATE } from './whisper-model.ts';

const FORMATS = [WAVE, MP3, MP4, QTFF, OGG, FLAC, WEBM, MATROSKA, ADTS];
const FORMAT_NAMES = 'flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav and webm';
export const MAX_SECONDS = 2 * 60 * 60;
/** Maximum size of a file's samples in the page's decoder: 11 minutes of stereo at 48 kHz. */
const MAX_BYTES_IN_PAGE = 256 * 1024 * 1024;
/** Speech in the codecs of telephones. */
const MIN_BITS_A_SECOND = 6000;
/** Shorter gaps are rounding of the times. */
const MIN_GAP_SECONDS = 0.05;
const MAX_CHANNELS = 32;
/** Far below speech. A piece of the file has some thousand samples, which must not be minutes. */
const MIN_RATE = 1000;
const MAX_RATE = 384_000;

/** Sound at 16 kHz in one channel, in pieces of any length up to a second or so. */
export type Sound = AsyncGenerator<Float32Array<ArrayBuffer>, void, undefined>;

/**
 * The sound of a file, in one channel at 16 kHz, decoded as it is read: at most a second of it is in memory, and what the
 * browser's decoder holds. What the worker cannot decode, the page does, as a whole and within a bound.
 * @throws ServiceError 400: no sound, too long, or a codec that this browser lacks
 */
export async function readAudio(file: Blob, decodeInPage: DecodeAudio): Promise<Sound> {
  if (file.size === 0) throw refuse('is empty. Send a file of sound');
  const input = new Input({ source: new BlobSource(file), formats: FORMATS });
  const track = await input.getPrimaryAudioTrack().catch(() => {
    throw refuse(`is damaged, or no sound in a format that can be read: ${FORMAT_NAMES}`);
  });
  if (!track) throw refuse('has no sound in it');
  const { numberOfChannels, sampleRate } = track;
  if (numberOfChannels > MAX_CHANNELS || sampleRate > MAX_RATE || sampleRate < MIN_RATE) {
    throw refuse(`has ${numberOfChannels} channels at ${sampleRate} Hz, which is out of bounds`);
  }
  // A format without an index is decoded to see: the limit holds there too.
  const seconds = await track.computeDuration().catch(() => 0);
  if (seconds > MAX_SECONDS) throw tooLong();
  if ((isPcm(track.codec) || !isWebKitGtk()) && (await track.canDecode())) return decode(track, input);
  input.dispose();
  const codec = track.codec ?? 'an unknown codec';
  const most = MAX_BYTES_IN_PAGE / (Float32Array.BYTES_PER_ELEMENT * numberOfChannels * sampleRate);
  // Without a duration, the file's size is the bound.
  if ((seconds || (file.size * 8) / MIN_BITS_A_SECOND) > most) {
    const minutes = Math.floor(most / 60);
    const rule = `is in ${codec}, of which this browser decodes at most ${minutes} minutes. Split it`;
    throw refuse(rule);
  }
  const audio = await decodeInPage(file);
  if ('samples' in audio) return pieces(audio.samples);
  throw await undecodable(codec, audio.plays);
}

const isPcm = (codec: string | null): boolean => codec !== null && /^pcm|law$/.test(codec);

/** It reports that it decodes mp3 in a worker, and then its process ends, and with it the page. */
const isWebKitGtk = (): boolean => /Linux.*AppleWebKit\/(?!.*Chrom)/.test(navigator.userAgent);

async function undecodable(codec: string, playsInPage: readonly string[]): Promise<ServiceError> {
  const able = isWebKitGtk() ? [] : await getDecodableAudioCodecs();
  const others = able.filter((each) => !each.startsWith('pcm') && !each.endsWith('law'));
  const known = [...new Set(['wav', ...others, ...playsInPage])].join(', ');
  const rule = `is in ${codec}, and damaged, or of a kind that this browser cannot decode. It decodes ${known}`;
  return unsupported('file', rule);
}

const refuse = (rule: string): ServiceError => invalidField('file', rule);

export const tooLong = (): ServiceError => refuse('is longer than 2 hours. Split it');

/** Sound that the page has decoded, a second at a time. */
async function* pieces(samples: Int16Array): Sound {
  for (let at = 0; at < samples.length; at += SAMPLE_RATE)
    yield Float32Array.from(samples.subarray(at, at + SAMPLE_RATE), (sample) => sample / 32_768);
}

async function* decode(track: InputAudioTrack, input: Input): Sound {
  const resampler = new Resampler(track.sampleRate);
  /** Timestamp of the first sample: files need not begin at 0. */
  let origin: number | null = null;
  let position = 0;
  try {
    for await (const sample of new AudioSampleSink(track).samples()) {
      const { timestamp, duration, sampleRate } = sample;
      const samples = mono(sample);
      sample.close();
      origin ??= timestamp;
      // Silence that the file leaves out, a second at a time.
      for (let gap = timestamp - origin - position; gap > MIN_GAP_SECONDS; gap -= 1) {
        const seconds = Math.min(gap, 1);
        position += seconds;
        yield resampler.push(new Float32Array(Math.round(seconds * sampleRate)));
      }
      position += duration;
      yield resampler.push(samples);
    }
    yield resampler.end();
  } catch (error) {
    console.warn('localtext: a file of sound could not be decoded', error);
    throw refuse(`is damaged after ${position.toFixed(1)} s`);
  } finally {
    input.dispose();
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
