import { expect, test } from 'vitest';

import { addFile, type FileLists } from '../../../src/node/site-files.ts';

test('a first visit waits for no file over 1 MiB, and for 5 MiB of pictures', () => {
  const files: FileLists = { shell: [], large: [] };
  const mebibyte = new Uint8Array(2 ** 20);
  for (let count = 0; count < 6; count++) addFile(files, `photo-${count}.jpg`, mebibyte);
  addFile(files, 'icon.png', 'small');
  for (const name of ['a.js', 'b.js']) addFile(files, name, mebibyte);
  addFile(files, 'c.js', new Uint8Array(2 ** 20 + 1));
  const names = ({ url }: { url: string }): string => url;
  expect(files.shell.map(names)).toEqual(
    [0, 1, 2, 3, 4].map((count) => `photo-${count}.jpg`).concat('a.js', 'b.js'),
  );
  expect(files.large.map(names)).toEqual(['photo-5.jpg', 'icon.png', 'c.js']);
});
