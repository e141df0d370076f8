import type { SpeechFormat } from '#jobs';
import { flacFrames, flacHeader } from './flac.ts';
import { VOICE_RATE } from './waveform.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Encodes the sound of a piece. The bytes of a speech's pieces follow each other. Each call ends the encoder's stream,
 * so that another engine can continue after it. Nothing is kept: the bytes are transferred.
 */
export type EncodeSound = (samples: Float32Array<ArrayBuffer>) => Promise<Bytes>;

/** Bits a second of compressed speech. */
const BITRATE = 64_000;
const CODED = { numberOfChannels: 1, sampleRate: VOICE_RATE, bitrate: BITRATE };
/** Length of a file that is still being written. */
const UNKNOWN_LENGTH = 0xffffffff;

/** Formats that this browser can write. */
export async function usableFormats(): Promise<SpeechFormat[]> {
  const { canEncodeAudio } = await import('mediabunny');
  const codecs = (['opus', 'aac'] as const).map(async (codec) =>
    (await canEncodeAudio(codec, CODED).catch(() => false)) ? [codec] : [],
  );
  return ['mp3', ...(await Promise.all(codecs)).flat(), 'flac', 'wav', 'pcm'];
}

/**
 * @param format one of the usable formats
 * @param position samples that an earlier engine has written
 * @param mp3Encoder URL of LAME in WebAssembly
 */
export async function openEncoder(
  format: SpeechFormat,
  position: number,
  mp3Encoder: string,
): Promise<EncodeSound> {
  if (format === 'mp3') return mp3(mp3Encoder);
  if (format === 'opus' || format === 'aac') return (samples) => coded(format, samples);
  let written = position;
  return async (samples) => {
    const bytes = format === 'flac' ? flacFrames(samples, written) : pcm(samples);
    const header = written === 0 ? HEADERS[format] : undefined;
    written += samples.length;
    return header ? joined(...header, bytes) : bytes;
  };
}

const joined = async (...parts: BlobPart[]): Promise<Bytes> =>
  new Uint8Array(await new Blob(parts).arrayBuffer());

/** Samples as 16-bit integers, little-endian as every processor that a browser runs on. */
const pcm = (samples: Float32Array): Bytes =>
  new Uint8Array(Int16Array.from(samples, (sample) => Math.round(sample * 32_767)).buffer);

/** Header of a WAV file of 16-bit samples of one channel, whose length is not known yet. */
const WAVE_HEADER: readonly BlobPart[] = [
  'RIFF',
  Uint32Array.of(UNKNOWN_LENGTH),
  'WAVEfmt ',
  Uint32Array.of(16),
  Uint16Array.of(1, 1),
  Uint32Array.of(VOICE_RATE, VOICE_RATE * 2),
  Uint16Array.of(2, 16),
  'data',
  Uint32Array.of(UNKNOWN_LENGTH),
];

const HEADERS: Partial<Record<SpeechFormat, readonly BlobPart[]>> = {
  wav: WAVE_HEADER,
  flac: [flacHeader()],
};

async function mp3(url: string): Promise<EncodeSound> {
  const { createEncoder } = await import('wasm-media-encoders');
  const encoder = await createEncoder('audio/mpeg', await (await fetch(url)).arrayBuffer());
  return async (samples) => {
    encoder.configure({ sampleRate: VOICE_RATE, channels: 1, bitrate: 64 });
    // The encoder uses its buffer again.
    return joined(encoder.encode([samples]).slice(), encoder.finalize().slice());
  };
}

/** Encodes by WebCodecs. */
async function coded(format: 'opus' | 'aac', samples: Float32Array<ArrayBuffer>): Promise<Bytes> {
  const { AdtsOutputFormat, AudioSample, AudioSampleSource, BufferTarget, OggOutputFormat, Output } =
    await import('mediabunny');
  const target = new BufferTarget();
  const output = new Output({
    format: format === 'opus' ? new OggOutputFormat() : new AdtsOutputFormat(),
    target,
  });
  const source = new AudioSampleSource({ codec: format, bitrate: BITRATE });
  output.addAudioTrack(source);
  await output.start();
  const sample = new AudioSample({
    data: samples,
    format: 'f32-planar',
    numberOfChannels: 1,
    sampleRate: VOICE_RATE,
    timestamp: 0,
  });
  await source.add(sample);
  sample.close();
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer(0));
}
