/** Whisper's rate, in Hz. */
export const RATE = 16_000;

/**
 * The samples of a file in one channel, decoded by the browser: the whole of it is in memory meanwhile.
 * @throws DOMException for what this browser cannot decode
 */
export async function decodeSound(file: Blob): Promise<Float32Array<ArrayBuffer>> {
  const context = new OfflineAudioContext(1, 1, RATE);
  const sound = await context.decodeAudioData(await file.arrayBuffer());
  const mixed = new Float32Array(sound.length);
  for (let channel = 0; channel < sound.numberOfChannels; channel++) {
    for (const [at, sample] of sound.getChannelData(channel).entries()) {
      mixed[at] = (mixed[at] ?? 0) + sample / sound.numberOfChannels;
    }
  }
  return mixed;
}

/** Length of a file in seconds, from its header; null if it is unknown. */
export const readDuration = (url: string): Promise<number | null> =>
  new Promise((resolve) => {
    const audio = new Audio();
    audio.preload = 'metadata';
    audio.addEventListener('loadedmetadata', () =>
      resolve(audio.duration < Infinity ? audio.duration : null),
    );
    audio.addEventListener('error', () => resolve(null));
    audio.src = url;
  });
