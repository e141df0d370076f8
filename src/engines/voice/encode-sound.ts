import type { SpeechFormat } from '#jobs';
import { SAMPLE_RATE } from './waveform.ts';

/** Writes sound in one format, piece by piece. */
export interface SoundEncoder {
  encode(samples: Float32Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
  /** @returns the last bytes */
  finish(): Promise<Uint8Array<ArrayBuffer>>;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** A new one each time: what an encoder returns is transferred, and its buffer is gone then. */
const nothing = (): Bytes => new Uint8Array(0);
/** Bits a second of compressed speech. */
const BITRATE = 64_000;
const CODED = { numberOfChannels: 1, sampleRate: SAMPLE_RATE, bitrate: BITRATE };
/** Length of a file that is still being written. */
const UNKNOWN_LENGTH = 0xffffffff;

/** Formats that this browser can write. */
export async function usableFormats(): Promise<SpeechFormat[]> {
  const { canEncodeAudio } = await import('mediabunny');
  const [opus, aac] = await Promise.all(
    (['opus', 'aac'] as const).map((codec) => canEncodeAudio(codec, CODED).catch(() => false)),
  );
  return ['mp3', ...(opus ? (['opus'] as const) : []), ...(aac ? (['aac'] as const) : []), 'wav', 'pcm'];
}

/**
 * @param format one of the usable formats
 * @param isResumed whether an earlier engine has written the beginning
 * @param mp3Encoder URL of LAME in WebAssembly
 */
export async function openEncoder(
  format: SpeechFormat,
  isResumed: boolean,
  mp3Encoder: string,
): Promise<SoundEncoder> {
  if (format === 'mp3') return mp3(mp3Encoder);
  if (format === 'opus' || format === 'aac') return coded(format);
  return format === 'wav' && !isResumed ? pcm(waveHeader()) : pcm();
}

/** Samples as 16-bit integers, behind a beginning. */
function pcm(beginning: Bytes = nothing()): SoundEncoder {
  let before = beginning;
  return {
    async encode(samples) {
      const bytes = new Uint8Array(before.length + samples.length * 2);
      bytes.set(before);
      const view = new DataView(bytes.buffer, before.length);
      samples.forEach((sample, at) => view.setInt16(at * 2, Math.round(sample * 32_767), true));
      before = nothing();
      return bytes;
    },
    finish: async () => before,
  };
}

/** Header of a WAV file whose length is not known yet. */
function waveHeader(): Bytes {
  const view = new DataView(new ArrayBuffer(44));
  const text = (at: number, word: string): void => {
    for (let i = 0; i < word.length; i++) view.setUint8(at + i, word.charCodeAt(i));
  };
  text(0, 'RIFF');
  view.setUint32(4, UNKNOWN_LENGTH, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, SAMPLE_RATE, true);
  view.setUint32(28, SAMPLE_RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, UNKNOWN_LENGTH, true);
  return new Uint8Array(view.buffer);
}

async function mp3(url: string): Promise<SoundEncoder> {
  const { createEncoder } = await import('wasm-media-encoders');
  const encoder = await createEncoder('audio/mpeg', await (await fetch(url)).arrayBuffer());
  encoder.configure({ sampleRate: SAMPLE_RATE, channels: 1, bitrate: 64 });
  return {
    // The encoder's buffer is used again.
    encode: async (samples) => Uint8Array.from(encoder.encode([samples])),
    finish: async () => Uint8Array.from(encoder.finalize()),
  };
}

/** Encodes by WebCodecs. */
async function coded(format: 'opus' | 'aac'): Promise<SoundEncoder> {
  const { AdtsOutputFormat, AudioSample, AudioSampleSource, OggOutputFormat, Output, StreamTarget } =
    await import('mediabunny');
  let written: Uint8Array[] = [];
  const target = new StreamTarget(
    new WritableStream({
      write({ data }) {
        written.push(data.slice());
      },
    }),
  );
  const output = new Output({
    format: format === 'opus' ? new OggOutputFormat() : new AdtsOutputFormat(),
    target,
  });
  const source = new AudioSampleSource({ codec: format, bitrate: BITRATE });
  output.addAudioTrack(source);
  await output.start();
  let seconds = 0;
  const taken = (): Bytes => {
    const parts = written;
    written = [];
    const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  };
  return {
    async encode(samples) {
      const sample = new AudioSample({
        data: samples,
        format: 'f32-planar',
        numberOfChannels: 1,
        sampleRate: SAMPLE_RATE,
        timestamp: seconds,
      });
      seconds += samples.length / SAMPLE_RATE;
      await source.add(sample);
      sample.close();
      return taken();
    },
    async finish() {
      await output.finalize();
      return taken();
    },
  };
}
