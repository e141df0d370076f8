/** Sound in one channel as a wav file of 16 bits, little-endian as every processor that a browser runs on. */
export function writeWav(samples: Float32Array, rate: number): Blob {
  const data = Int16Array.from(samples, (sample) => Math.round(Math.max(-1, Math.min(1, sample)) * 32_767));
  const format = [Uint16Array.of(1, 1), Uint32Array.of(rate, rate * 2), Uint16Array.of(2, 16)];
  const sizes = { file: Uint32Array.of(36 + data.byteLength), data: Uint32Array.of(data.byteLength) };
  return new Blob(['RIFF', sizes.file, 'WAVEfmt ', Uint32Array.of(16), ...format, 'data', sizes.data, data], {
    type: 'audio/wav',
  });
}
