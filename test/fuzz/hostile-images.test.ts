import { expect, test } from 'vitest';

import { readImageHeader } from '../../src/images/image-header.ts';
import { Random } from '../chaos/random.ts';
import { progressiveJpegOf, textBombPng } from '../support/vision/image-files.ts';
import { hostileImage } from './hostile-image.ts';
import { seed } from './seed.ts';

const images = Number(process.env['LOCALTEXT_FUZZ_IMAGES'] ?? 1000);

test(`no image hides its size (${images}, seed ${seed})`, () => {
  const counts: Record<string, number> = {};
  for (let index = 0; index < images; index++) {
    const { kind, file, width, height } = hostileImage(new Random(seed * 1_000_003 + index));
    counts[kind] = (counts[kind] ?? 0) + 1;
    const found = readImageHeader(file);
    const told = `${kind}, ${width} × ${height}, image ${index} of seed ${seed}`;
    expect(found?.width, told).toBeGreaterThanOrEqual(width);
    expect(found?.height, told).toBeGreaterThanOrEqual(height);
  }
  console.log(`${images} images, seed ${seed}: ${JSON.stringify(counts)}`);
});

test(
  `no damage to an image makes its header fail or run on (${images}, seed ${seed})`,
  { timeout: 120_000 },
  () => {
    for (let index = 0; index < images; index++) {
      const random = new Random(seed * 2_000_003 + index);
      const { file } = hostileImage(random);
      for (let changes = random.below(8); changes >= 0; changes--)
        file[random.below(Math.min(file.length, 300))] = random.below(256);
      readImageHeader(file.subarray(0, random.pick([file.length, random.below(file.length)])));
    }
  },
);

test.each([1, 10, 100])('a progressive JPEG of %d scans is read', (scans) => {
  const header = readImageHeader(progressiveJpegOf(2000, 1000, scans));
  expect(header).toMatchObject({ type: 'image/jpeg', width: 2000, height: 1000, whole: true });
});

test.each([101, 100_000])('one of %d scans is refused: each goes through all pixels', (scans) => {
  expect(readImageHeader(progressiveJpegOf(2000, 1000, scans))?.fault).toMatch(/more than 100 scans/);
});

test('texts of a PNG are not read', () => {
  expect(readImageHeader(textBombPng(20))).toMatchObject({ width: 3, height: 3, whole: true });
});
