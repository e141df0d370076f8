import {
  ADTS,
  type AudioSample,
  AudioSampleSink,
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

import { invalidField, ServiceError } from '#base';
import { BoundedSource } from './internals/bounded-source.ts';
import { createResampler, SAMPLE_RATE } from './resampler.ts';

const FORMATS = [WAVE, MP3, MP4, QTFF, OGG, FLAC, WEBM, MATROSKA, ADTS];
const FORMAT_NAMES = 'flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav and webm';
const MAX_SECONDS = 2 * 60 * 60;
/** Maximum size of a file's samples in the page's decoder: 11 minutes of stereo at 48 kHz. */
const MAX_BYTES_IN_PAGE = 256 * 1024 * 1024;
/**
 * Usual number of samples per packet: at 32 kHz or more, and below. A hostile file's
 * packets have at most 32 times as many.
 */
const SAMPLES_A_PACKET: Record<string, [number, number]> = {
  aac: [1024, 1024],
  mp3: [1152, 576],
  opus: [960, 960],
  vorbis: [1024, 512],
  flac: [4096, 2048],
};
/** Minimum bit rate, for speech in telephone codecs. */
const MIN_BITS_A_SECOND = 6000;
/** Minimum length of a gap. Shorter gaps are rounding errors of the timestamps. */
const MIN_GAP_SECONDS = 0.05;
const MAX_CHANNELS = 32;
/** Minimum sample rate, far below that of speech: a decoded piece of some thousand samples must not last for minutes. */
const MIN_RATE = 1000;
const MAX_RATE = 384_000;
/** Maximum sample. Some programs write integers of 32 bits as floats; the model would make NaN of much larger ones. */
const MAX_SAMPLE = 2 ** 32;

/** Mono sound at 16 kHz, in pieces of a second. */
export type Sound = AsyncGenerator<Float32Array<ArrayBuffer>, void, undefined>;

/** A file that the worker cannot decode: its codec, and the codecs that the worker decodes. */
export interface ForPage {
  codec: string;
  decodes: string[];
}

/**
 * Opens a file, which is decoded while it is read: at most a second is in memory, besides the decoder's buffers.
 * @returns the sound, or the codec if the page must decode the whole file, which then is within the page's limit
 * @throws ServiceError 400: no sound, too long, or out of bounds
 */
export async function openSound(file: Blob): Promise<Sound | ForPage> {
  if (file.size === 0) throw refuse('is empty. Send an audio file');
  const source = new BoundedSource(await withLengths(file));
  const input = new Input({ source, formats: FORMATS });
  const track = await input.getPrimaryAudioTrack().catch(() => {
    throw refuse(`is damaged, or not in a format that can be read: ${FORMAT_NAMES}`);
  });
  if (!track) throw noSound();
  const { numberOfChannels, sampleRate } = track;
  if (numberOfChannels > MAX_CHANNELS || !isRate(sampleRate))
    throw refuse(`has ${numberOfChannels} channels at ${sampleRate} Hz, which is out of bounds`);
  // Formats without an index report no duration; `inSeconds()` enforces the limit for them.
  // Recordings that are sent in parts begin at the time of their part.
  const times = Promise.all([track.computeDuration(), track.getFirstTimestamp()]);
  const seconds = await times.then(([end, start]) => end - start).catch(() => 0);
  if (source.exceeded) throw refuse('is damaged: its packets have no end');
  if (seconds > MAX_SECONDS) throw tooLong();
  if ((isPcm(track.codec) || !isWebKitGtk()) && (await track.canDecode()))
    return inSeconds(decode(track, input, source));
  const codec = track.codec ?? 'an unknown codec';
  const maxSamples = MAX_BYTES_IN_PAGE / (Float32Array.BYTES_PER_ELEMENT * numberOfChannels);
  const maxSeconds = maxSamples / sampleRate;
  // Without a duration, the file's size bounds it.
  const isLong =
    (seconds || (file.size * 8) / MIN_BITS_A_SECOND) > maxSeconds || (await hasMore(track, maxSamples));
  input.dispose();
  if (isLong) {
    const most = `${Math.floor(maxSeconds / 60)} minutes`;
    throw refuse(`is in ${codec}, of which this browser decodes at most ${most}. Split it`);
  }
  return { codec, decodes: isWebKitGtk() ? [] : await getDecodableAudioCodecs() };
}

/** Maximum length of a WAV file's header. */
const MAX_HEADER = 4096;

/**
 * Makes the sound of a WAV file that was written as a stream, whose header counts no bytes of it, last to the file's end.
 * Hides its notes: some programs write them in a form that mediabunny refuses.
 */
async function withLengths(file: Blob): Promise<Blob> {
  const bytes = new Uint8Array(await file.slice(0, MAX_HEADER).arrayBuffer());
  const text = String.fromCharCode(...bytes).replaceAll('LIST', 'JUNK');
  const start = /^RIFF[^]{4}WAVE(?:(?!data)[^])*data/.exec(text)?.[0].length ?? 0;
  if (start === 0) return file;
  const header = Uint8Array.from(text, (each) => each.charCodeAt(0));
  if (new DataView(header.buffer).getUint32(4, true) <= start)
    header.fill(0xff, 4, 8).fill(0xff, start, start + 4);
  return new Blob([header, file.slice(MAX_HEADER)]);
}

/** Whether the packets contain more samples, regardless of the file's timestamps. */
async function hasMore(track: InputAudioTrack, samples: number): Promise<boolean> {
  const { codec, sampleRate } = track;
  const [high, low] = SAMPLES_A_PACKET[codec ?? ''] ?? [1024, 1024];
  const maxPackets = Math.floor(samples / (sampleRate < 32_000 ? low : high));
  const { packetCount } = await track.computePacketStats(maxPackets + 1).catch(() => {
    throw refuse('is damaged: its packets cannot be read');
  });
  return packetCount > maxPackets;
}

const isRate = (rate: number): boolean => rate >= MIN_RATE && rate <= MAX_RATE;

const isPcm = (codec: string | null): boolean => codec !== null && /^pcm|law$/.test(codec);

/** Detects WebKitGTK, which claims to decode mp3 in a worker: its process then crashes, and the page with it. */
const isWebKitGtk = (): boolean => /Linux.*AppleWebKit\/(?!.*Chrom)/.test(navigator.userAgent);

const refuse = (rule: string): ServiceError => invalidField('file', rule);

const noSound = (): ServiceError => refuse('has no sound, or is cut off: an m4a needs its end');

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
  let resampler: ReturnType<typeof createResampler> | null = null;
  /** Timestamp of the first sample: files need not begin at 0. */
  let origin: number | null = null;
  let position = 0;
  try {
    for await (const sample of new AudioSampleSink(track).samples()) {
      source.advance();
      const { timestamp, duration, sampleRate } = sample;
      const samples = mono(sample);
      sample.close();
      if (!samples.every((each) => Math.abs(each) <= MAX_SAMPLE)) {
        const rule = `has samples at ${position.toFixed(1)} s that are infinite, NaN or far too large. Record or export it again`;
        throw refuse(rule);
      }
      // Use the decoder's rate: many HE-AAC files declare half of it, and it may change within a file.
      if (resampler?.rate !== sampleRate) {
        if (!isRate(sampleRate)) throw new Error(`${sampleRate} Hz`);
        if (resampler) yield resampler.end();
        resampler = createResampler(sampleRate);
      }
      origin ??= timestamp;
      // Fill gaps in the timestamps with silence, a second at a time.
      for (let gap = timestamp - origin - position; gap > MIN_GAP_SECONDS; gap -= 1) {
        const seconds = Math.min(gap, 1);
        position += seconds;
        yield resampler.push(new Float32Array(Math.round(seconds * sampleRate)));
      }
      position += duration;
      yield resampler.push(samples);
    }
    if (!resampler) throw noSound();
    yield resampler.end();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    console.warn('localtext: an audio file could not be decoded', error);
    throw refuse(`is damaged after ${position.toFixed(1)} s`);
  } finally {
    input.dispose();
  }
}

/** Mixes all channels to their mean. Channels that cancel each other out are those of a wrong wire: the first counts. */
function mono(sample: AudioSample): Float32Array<ArrayBuffer> {
  const { numberOfFrames: length, numberOfChannels: channels } = sample;
  const mixed = new Float32Array(length);
  const channel = new Float32Array(length);
  let power = 0;
  for (let planeIndex = channels - 1; planeIndex >= 0; planeIndex--) {
    sample.copyTo(channel, { planeIndex, format: 'f32-planar' });
    for (let at = 0; at < length; at++) {
      const value = (channel[at] ?? 0) / channels;
      mixed[at] = (mixed[at] ?? 0) + value;
      power += value ** 2;
    }
  }
  return mixed.reduce((sum, value) => sum + value ** 2, 0) < MIN_SHARE * power ? channel : mixed;
}

/** Least power of the mean of channels that belong together, as a share of theirs. */
const MIN_SHARE = 0.001;
