import { expect, test, vi } from 'vitest';

import { closeGguf, openGguf } from '../../../src/gguf/open-gguf.ts';
import { readTexts } from '../../../src/gguf/read-gguf.ts';
import { chatMetadata, writeGguf } from '../../support/write-gguf.ts';

test('a header is read once for all that ask for it, until it is closed', async () => {
  const tensors = [{ name: 'output.weight', shape: [32], type: 0, bytes: 128 }];
  const file = new Blob([writeGguf({ metadata: chatMetadata, tensors })]);
  const reads = vi.spyOn(file, 'slice');
  const [first, second] = await Promise.all([openGguf(file), openGguf(file)]);
  expect(first.header.tensors.map(({ name }) => name)).toEqual(['output.weight']);
  expect(second).toBe(first);
  expect(reads).toHaveBeenCalledTimes(1);
  closeGguf(file);
  await openGguf(file);
  expect(reads).toHaveBeenCalledTimes(2);
});

test('a list that ends the file can be read, although the parser skips it', async () => {
  const long = 'a'.repeat(9 * 2 ** 20);
  const { header, cursor } = await openGguf(new Blob([writeGguf({ metadata: { list: [long] } })]));
  expect(readTexts(cursor, header.metadata.get('list')?.at ?? 0, () => true).get(0)).toHaveLength(
    long.length,
  );
});
