import { expect, test } from 'vitest';

import { readImageHeader } from '../../src/images/image-header.ts';
import { Random } from '../chaos/random.ts';
import { hostileImage } from './hostile-image.ts';

const images = Number(process.env['LOCALTEXT_FUZZ_IMAGES'] ?? 1000);
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);

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
