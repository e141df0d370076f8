import { expect, test } from 'vitest';

import { checkFormat, findBrokenJson } from '../../../src/gguf/check-format.ts';
import { tinyGguf } from './tiny-gguf.ts';
import { fileOf } from '../weights/file-server.ts';

const checked = (path: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> =>
  checkFormat(fileOf(Buffer.from(bytes), path), new Blob([bytes]));

const tiny = (): Buffer<ArrayBuffer> => Buffer.from(tinyGguf());
/** Position of the number after a text. */
const at = (text: string): number => tiny().indexOf(text) + text.length;
const BLK = at('blk');

function altered(
  change: (gguf: Buffer<ArrayBuffer>) => Buffer<ArrayBuffer> | undefined,
): Buffer<ArrayBuffer> {
  const gguf = tiny();
  return change(gguf) ?? gguf;
}
const u64 = (position: number, value: bigint) =>
  altered((gguf) => void gguf.writeBigUInt64LE(value, position));
const u32 = (position: number, value: number) => altered((gguf) => void gguf.writeUInt32LE(value, position));

test('a sound GGUF passes, and one whose header is longer than what is read first', async () => {
  await checked('m/a.gguf', tiny());
  const long = tiny();
  const extra = Buffer.alloc(9 * 2 ** 20, 'x');
  // One more entry, of a long text.
  long.writeBigUInt64LE(4n, 16);
  const entry = Buffer.concat([
    Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]),
    Buffer.from('k'),
    Buffer.from([8, 0, 0, 0]),
  ]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(extra.length));
  const whole = Buffer.concat([long.subarray(0, 24), entry, length, extra, long.subarray(24)]);
  await checked('m/a.gguf', Buffer.concat([whole, Buffer.alloc(32)]));
});

test.each<[string, Buffer<ArrayBuffer>, RegExp]>([
  ['of another kind', Buffer.from('<html>not found</html> and so on'), /is not a GGUF/],
  ['of no bytes to speak of', Buffer.from('GGUF'), /is not a GGUF/],
  ['of a version to come', u32(4, 99), /version 99/],
  ['of huge counts', u64(8, 2n ** 63n), /as the number of tensors, and has \d+ bytes/],
  ['of huge metadata', u64(16, 2n ** 40n), /as the number of metadata entries/],
  ['with an endless name', u64(24, 2n ** 50n), /as the length of a name/],
  ['with a list without end', u64(at('tokens') + 8, 2n ** 60n), /as the length of tokens/],
  ['with a list of lists', u32(at('tokens') + 4, 9), /elements of unknown type 9 in tokens/],
  ['with a value of no type', u32(at('general.file_type'), 77), /unknown type 77 for general\.file_type/],
  ['with a tensor of too many dimensions', u32(BLK, 1_000_000), /tensor blk 1000000 dimensions/],
  ['with a tensor larger than it', u64(BLK + 4, 2n ** 40n), /tensor blk ends at byte \d+, and has \d+/],
  ['with a tensor behind its end', u64(BLK + 16, 2n ** 62n), /tensor blk ends at byte/],
  ['cut in its tensors', altered((gguf) => gguf.subarray(0, gguf.length - 8)), /tensor norm ends at byte/],
  ['cut short in its header', altered((gguf) => gguf.subarray(0, BLK + 6)), /ends within its header/],
])('a GGUF %s is refused by its name', async (_, bytes, message) => {
  const failure = checked('m/a.gguf', bytes);
  await expect(failure).rejects.toMatchObject({ wire: { code: 'weights_corrupt' } });
  await expect(failure).rejects.toThrow(/^The weight file m\/a\.gguf /);
  await expect(failure).rejects.toThrow(message);
});

function safetensors(
  head: unknown,
  { length, data = 8 }: { length?: bigint; data?: number } = {},
): Buffer<ArrayBuffer> {
  const text = Buffer.from(typeof head === 'string' ? head : JSON.stringify(head));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(length ?? BigInt(text.length));
  return Buffer.concat([size, text, Buffer.alloc(data)]);
}
const tensor = (more: object = {}) => ({ w: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...more } });

test('a sound safetensors file passes', async () => {
  await checked('m/a.safetensors', safetensors({ ...tensor(), __metadata__: { format: 'pt' } }));
});

test.each<[string, Buffer<ArrayBuffer>, RegExp]>([
  ['of three bytes', Buffer.from('abc'), /is not a safetensors file: it has 3 bytes/],
  [
    'whose header is longer than it',
    safetensors(tensor(), { length: 2n ** 62n }),
    /as the length of its header, and has/,
  ],
  [
    'whose header is larger than that of any model',
    safetensors({ ...tensor(), more: 'x'.repeat(2 ** 22) }),
    /gives \d+ bytes as the length of its header; 4194304 are allowed/,
  ],
  ['whose header is not JSON', safetensors('{"w": '), /a header that is not JSON/],
  ['whose header is a number', safetensors('7'), /a header that lists no tensors/],
  [
    'with a tensor behind its end',
    safetensors(tensor({ data_offsets: [2 ** 40, 2 ** 40 + 8] })),
    /tensor w lies at/,
  ],
  [
    'with a tensor that ends before it begins',
    safetensors(tensor({ data_offsets: [8, 0] })),
    /tensor w lies at 8 to 0/,
  ],
  ['below byte 0', safetensors(tensor({ data_offsets: [-8, 0] })), /lists no tensors: w\.data_offsets\.0/],
  [
    'with a shape that its bytes do not fill',
    safetensors(tensor({ shape: [2 ** 30, 2 ** 30] })),
    /tensor w 8 bytes, and a shape/,
  ],
  ['cut in its tensors', safetensors(tensor(), { data: 4 }), /tensor w lies at 0 to 8, and has 4 bytes/],
])('a safetensors file %s is refused by its name', async (_, bytes, message) => {
  const failure = checked('m/a.safetensors', bytes);
  await expect(failure).rejects.toMatchObject({ wire: { code: 'weights_corrupt' } });
  await expect(failure).rejects.toThrow(/^The weight file m\/a\.safetensors /);
  await expect(failure).rejects.toThrow(message);
});

test('after a load that failed, the file that should be JSON and is not is named', async () => {
  const given = (path: string, text: string) => ({
    file: fileOf(Buffer.from(text), path),
    blob: new Blob([text]),
  });
  const sound = [given('m/config.json', '{}'), given('m/a.bin', '{')];
  expect(await findBrokenJson(sound)).toBeNull();
  const found = await findBrokenJson([...sound, given('m/tokenizer.json', '{"model": ')]);
  expect(found?.message).toMatch(/^The weight file m\/tokenizer\.json is not JSON, or cut short/);
});
