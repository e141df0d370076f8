import { dataUrl, png } from '../../test/support/vision/pictures.ts';
import { VISION_MODEL, visionModel } from '../../test/support/vision/vision-site.ts';
import type { VisionFiles } from './page/pictures.ts';
import { ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

const FIRST = 'What is it?';
const SECOND = 'Which colour has it?';

/** Tiles of 64 patches in 24 blocks; SmolVLM has 1,024 patches, and 12 blocks twelve times as wide. */
const ENCODER = { tile: 128, blocks: 24 };

/** The tests' model of SmolVLM's architecture with random weights: no package holds real ones. */
export async function pictures({ page, rounds }: Stage): Promise<Row> {
  const { catalog, url, close } = await visionModel(ENCODER);
  const files: VisionFiles = { catalog, url, model: VISION_MODEL };
  try {
    await page.evaluate((given) => window.bench.calls.loadVision(given), files);
    const ours = (picture: string, question: string) =>
      page.evaluate((given) => window.bench.calls.pictureOurs(...given), [files, picture, question] as const);
    const firsts: number[] = [];
    const seconds: number[] = [];
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      // A new one each round.
      const picture = dataUrl(png(420, 310, (x, y) => [(x + round * 9) & 255, (y * 3) & 255, round & 255]));
      const first = await ours(picture, FIRST);
      const second = await ours(picture, SECOND);
      if (round === 0) continue;
      firsts.push(first);
      seconds.push(second);
    }
    return ratio(
      'a second question about a picture ÷ the first: first token',
      { 'second, ms': seconds, 'first, ms': firsts },
      { atMost: 0.3 },
    );
  } finally {
    close();
  }
}
