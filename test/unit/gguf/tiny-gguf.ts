/** One block: scale 0.5, minimum -2, values 0 to 15 in the low halves and 15 to 0 in the high ones. */
const block = Uint8Array.from([
  0x00,
  0x38,
  0x00,
  0xc0,
  ...Array.from({ length: 16 }, (_, i) => i | ((15 - i) << 4)),
]);

const text = (value: string): number[] => [...u64(value.length), ...Buffer.from(value)];
const u32 = (value: number): number[] => [value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24];
const u64 = (value: number): number[] => [...u32(value), 0, 0, 0, 0];

/** A GGUF with one Q4_1 tensor, of a block unless told, and one F32 tensor of two weights. */
export function tinyGguf(blocks = 1): Uint8Array<ArrayBuffer> {
  const bytes = block.length * blocks;
  const aligned = Math.ceil(bytes / 32) * 32;
  const head = [
    [0x47, 0x47, 0x55, 0x46, ...u32(3), ...u64(2), ...u64(3)],
    [...text('general.file_type'), ...u32(4), ...u32(3)],
    [...text('general.name'), ...u32(8), ...text('tiny')],
    [...text('tokens'), ...u32(9), ...u32(8), ...u64(2), ...text('a'), ...text('bc')],
    [...text('blk'), ...u32(1), ...u64(32 * blocks), ...u32(3), ...u64(0)],
    [...text('norm'), ...u32(1), ...u64(2), ...u32(0), ...u64(aligned)],
  ].flat();
  const padding = Array<number>(Math.ceil(head.length / 32) * 32 - head.length).fill(0);
  const f32 = [...new Uint8Array(Float32Array.of(1.5, -2.5).buffer)];
  const start = head.length + padding.length;
  const file = new Uint8Array(start + aligned + f32.length);
  file.set([...head, ...padding]);
  for (let at = 0; at < bytes; at += block.length) file.set(block, start + at);
  file.set(f32, start + aligned);
  return file;
}
