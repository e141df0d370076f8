import { dataUrl, png } from '../../test/support/vision/pictures.ts';
import { VISION_MODEL, visionModel } from '../../test/support/vision/vision-site.ts';
import type { VisionFiles } from './page/pictures.ts';
import { quotients, type Row } from './row.ts';
import type { Stage } from './stage.ts';

const FIRST = 'What is it?';
const SECOND = 'Which colour has it?';

/** Tiles of 64 patches in 24 blocks; SmolVLM has 1,024 patches, and 12 blocks twelve times as wide. */
const ENCODER = { tile: 128, blocks: 24 };

/** The tests' model of SmolVLM's architecture with random weights: no package holds real ones. */
export async function pictures({ page, rounds }: Stage): Promise<Row[]> {
  const { catalog, url, close } = await visionModel(ENCODER);
  const files: VisionFiles = { catalog, url, model: VISION_MODEL };
  try {
    const fingerprint = await page.evaluate((given) => window.bench.calls.visionFingerprint(given), files);
    const threads = Number(/-wasm-(\d+)t$/.exec(fingerprint)?.[1] ?? 1);
    const ours = (picture: string, question: string) =>
      page.evaluate((given) => window.bench.calls.pictureOurs(...given), [files, picture, question] as const);
    const raw = (picture: string) =>
      page.evaluate((given) => window.bench.calls.pictureRaw(...given), [
        files,
        threads,
        picture,
        FIRST,
      ] as const);
    const times = { first: [] as number[], second: [] as number[], raw: [] as number[] };
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      // One that neither has seen.
      const picture = dataUrl(png(420, 310, (x, y) => [(x + round * 9) & 255, (y * 3) & 255, round & 255]));
      let reference = 0;
      let first = 0;
      const measureRaw = async (): Promise<void> => void (reference = await raw(picture));
      const measureOurs = async (): Promise<void> => void (first = await ours(picture, FIRST));
      for (const measure of round % 2 === 0 ? [measureRaw, measureOurs] : [measureOurs, measureRaw])
        await measure();
      const second = await ours(picture, SECOND);
      if (round === 0) continue;
      times.first.push(first);
      times.second.push(second);
      times.raw.push(reference);
    }
    const detail = {
      'raw, ms': times.raw,
      'ours, ms': times.first,
      'a second question, ms': times.second,
    };
    return [
      {
        name: "first token about a picture through /v1 ÷ the raw engine's",
        measures: `Time from the call to the first token, of a picture of 420 × 310 pixels that neither has seen. Random weights of SmolVLM's architecture, far smaller (an encoder of 24 blocks, 64 wide, up to 17 tiles of 128 × 128 pixels), WASM with ${threads} threads; the raw engine is wllama in the same page, with the settings that we load it with.`,
        unit: 'ratio',
        values: quotients(times.first, times.raw),
        detail,
      },
      {
        name: 'a second question about a picture ÷ the first: first token',
        measures: 'The same picture through /v1: the second question finds it computed.',
        unit: 'ratio',
        values: quotients(times.second, times.first),
        goal: { atMost: 0.3 },
        detail,
      },
    ];
  } finally {
    close();
  }
}
