import { expect, test, vi } from 'vitest';

import { closeGguf, openGguf } from '../../../src/gguf/open-gguf.ts';
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
