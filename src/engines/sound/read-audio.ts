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

import { invalidField, type ServiceError } from '../../errors/service-error.ts';
import { Resampler, SAMPLE_RATE } from './resampler.ts';

const FORMATS = [WAVE, MP3, MP4, QTFF, OGG, FLAC, WEBM, MATROSKA, ADTS];
const FORMAT_NAMES = 'flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav and webm';
const MAX_SECONDS = 2 * 60 * 60;
/** Maximum size of a file's samples in the page's decoder: 11 minutes of stereo at 48 kHz. */
const MAX_BYTES_IN_PAGE = 256 * 1024 * 1024;
/** Samples that encoders put into a packet: from 32 kHz on, and below. Packets of a hostile file have at most 32 times as many. */
const SAMPLES_A_PACKET: Record<string, [number, number]> = {
  aac: [1024, 1024],
  mp3: [1152, 576],
  opus: [960, 960],
  vorbis: [1024, 512],
  flac: [4096, 2048],
};
/** Speech in the codecs of telephones. */
const MIN_BITS_A_SECOND = 6000;
/** Shorter gaps are rounding of the times. */
const MIN_GAP_SECONDS = 0.05;
const MAX_CHANNELS = 32;
/** Far below speech. A piece of the file has some thousand samples, which must not be minutes. */
const MIN_RATE = 1000;
const MAX_RATE = 384_000;

/** Reads of the file for a packet of sound, or before the first, whatever the file's size. Sound takes 1 in 3 bytes. */
const MIN_READS = 100_000;
const READS_A_BYTE = 4;

/** Sound at 16 kHz in one channel, a second at a time. */
export type Sound = AsyncGenerator<Float32Array<ArrayBuffer>, void, undefined>;

/** The worker's browser cannot decode the file, and decodes these codecs. */
export interface ForPage {
  codec: string;
  decodes: string[];
}

/**
 * Opens a file, which is decoded as it is read: at most a second of it is in memory, and what the browser's decoder holds.
 * @returns the codec, where the page must decode the file as a whole, which is within the bound
 * @throws ServiceError 400: no sound, too long, or out of bounds
 */
export async function openSound(file: Blob): Promise<Sound | ForPage> {
  if (file.size === 0) throw refuse('is empty. Send an audio file');
  const source = new BoundedSource(file);
  const input = new Input({ source, formats: FORMATS });
  const track = await input.getPrimaryAudioTrack().catch(() => {
    throw refuse(`is damaged, or no sound in a format that can be read: ${FORMAT_NAMES}`);
  });
  if (!track) throw refuse('has no sound in it');
  const { numberOfChannels, sampleRate } = track;
  if (numberOfChannels > MAX_CHANNELS || !isRate(sampleRate))
    throw refuse(`has ${numberOfChannels} channels at ${sampleRate} Hz, which is out of bounds`);
  // A format without an index is decoded to see: the limit holds there too.
  const seconds = await track.computeDuration().catch(() => 0);
  if (source.exceeded) throw refuse('is damaged: its packets have no end');
  if (seconds > MAX_SECONDS) throw tooLong();
  if ((isPcm(track.codec) || !isWebKitGtk()) && (await track.canDecode()))
    return inSeconds(decode(track, input, source));
  const codec = track.codec ?? 'an unknown codec';
  const mostSamples = MAX_BYTES_IN_PAGE / (Float32Array.BYTES_PER_ELEMENT * numberOfChannels);
  const most = mostSamples / sampleRate;
  // Without a duration, the file's size is the bound.
  const isLong =
    (seconds || (file.size * 8) / MIN_BITS_A_SECOND) > most || (await hasMore(track, mostSamples));
  input.dispose();
  if (isLong) {
    const minutes = Math.floor(most / 60);
    const rule = `is in ${codec}, of which this browser decodes at most ${minutes} minutes. Split it`;
    throw refuse(rule);
  }
  return { codec, decodes: isWebKitGtk() ? [] : await getDecodableAudioCodecs() };
}

/** Whether the packets hold more samples, whatever the file's times say. */
async function hasMore(track: InputAudioTrack, samples: number): Promise<boolean> {
  const { codec, sampleRate } = track;
  const [high, low] = SAMPLES_A_PACKET[codec ?? ''] ?? [1024, 1024];
  const most = Math.floor(samples / (sampleRate < 32_000 ? low : high));
  const { packetCount } = await track.computePacketStats(most + 1).catch(() => {
    throw refuse('is damaged: its packets cannot be read');
  });
  return packetCount > most;
}

/** Limits reads: in damaged files of some formats, mediabunny would look for the next packet without end. */
class BoundedSource extends BlobSource {
  exceeded = false;
  #reads = 0;
  readonly #size: number;

  constructor(file: Blob) {
    super(file);
    this.#size = file.size;
  }

  /** Starts the count again. */
  advance(): void {
    this.#reads = 0;
  }

  /** Called before each read by mediabunny, also before one past the end. */
  _getFileSize(): number {
    this.exceeded ||= ++this.#reads > MIN_READS + READS_A_BYTE * this.#size;
    if (this.exceeded) throw new Error('the file is read without end');
    return this.#size;
  }
}

const isRate = (rate: number): boolean => rate >= MIN_RATE && rate <= MAX_RATE;

const isPcm = (codec: string | null): boolean => codec !== null && /^pcm|law$/.test(codec);

/** Detects WebKitGTK, which reports that it decodes mp3 in a worker; its process then ends, and with it the page. */
const isWebKitGtk = (): boolean => /Linux.*AppleWebKit\/(?!.*Chrom)/.test(navigator.userAgent);

const refuse = (rule: string): ServiceError => invalidField('file', rule);

const tooLong = (): ServiceError => refuse('is longer than 2 hours. Split it');

async function* inSeconds(sound: Sound): Sound {
  let samples = new Float32Array(SAMPLE_RATE);
  let length = 0;
  let seconds = 0;
  for await (const piece of sound) {
    for (let at = 0; at < piece.length;) {
      const part = piece.subarray(at, at + SAMPLE_RATE - length);
      samples.set(part, length);
      at += part.length;
      length += part.length;
      if (length < SAMPLE_RATE) continue;
      if (++seconds > MAX_SECONDS) throw tooLong();
      yield samples;
      [samples, length] = [new Float32Array(SAMPLE_RATE), 0];
    }
  }
  if (length > 0) yield samples.slice(0, length);
}

async function* decode(track: InputAudioTrack, input: Input, source: BoundedSource): Sound {
  let resampler: Resampler | null = null;
  /** Timestamp of the first sample: files need not begin at 0. */
  let origin: number | null = null;
  let position = 0;
  try {
    for await (const sample of new AudioSampleSink(track).samples()) {
      source.advance();
      const { timestamp, duration, sampleRate } = sample;
      const samples = mono(sample);
      sample.close();
      // The decoder's rate: many files in HE-AAC name half of it, and it may change within a file.
      if (resampler?.rate !== sampleRate) {
        if (!isRate(sampleRate)) throw new Error(`${sampleRate} Hz`);
        if (resampler) yield resampler.end();
        resampler = new Resampler(sampleRate);
      }
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
    if (resampler) yield resampler.end();
  } catch (error) {
    console.warn('localtext: an audio file could not be decoded', error);
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
