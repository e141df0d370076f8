import { transfer } from 'comlink';

import type { PageAudio } from '#protocol';

const RATE = 16_000;
const TYPES: Record<string, string> = {
  mp3: 'audio/mpeg',
  'm4a and mp4': 'audio/mp4; codecs="mp4a.40.2"',
  flac: 'audio/flac',
  'ogg (Vorbis)': 'audio/ogg; codecs="vorbis"',
  'ogg (Opus)': 'audio/ogg; codecs="opus"',
  'webm (Opus)': 'audio/webm; codecs="opus"',
};

/** Decodes a whole file. The caller bounds its size. */
export async function decodeAudio(file: Blob): Promise<PageAudio> {
  try {
    const context = new OfflineAudioContext(1, 1, RATE);
    const samples = mono(await context.decodeAudioData(await file.arrayBuffer()));
    return transfer({ samples }, [samples.buffer]);
  } catch {
    const player = document.createElement('audio');
    return { plays: Object.keys(TYPES).filter((name) => player.canPlayType(TYPES[name] ?? '') !== '') };
  }
}

/** Mean of all channels, as 16-bit samples: half the bytes. */
function mono(audio: AudioBuffer): Int16Array<ArrayBuffer> {
  const channels = Array.from({ length: audio.numberOfChannels }, (_, at) => audio.getChannelData(at));
  const samples = new Int16Array(audio.length);
  for (let at = 0; at < samples.length; at++) {
    let sum = 0;
    for (const channel of channels) sum += channel[at] ?? 0;
    samples[at] = Math.max(-1, Math.min(1, sum / channels.length)) * 32_767;
  }
  return samples;
}
