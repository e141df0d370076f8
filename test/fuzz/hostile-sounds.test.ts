import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { ServiceError } from '../../src/base/errors/service-error.ts';
import { openSound } from '../../src/engines/sound/read-audio.ts';
import { STEPS_OF_A_SECOND, stepsOf } from '../support/steps-of.ts';
import { clipPath, FORMATS } from '../support/speech/speech-model.ts';
import { Random } from '../chaos/random.ts';
import { CONTAINERS, hostileContainer } from './hostile-container.ts';
import { hostileSound } from './hostile-sound.ts';
import { seed } from './seed.ts';

const sounds = Number(process.env['LOCALTEXT_FUZZ_SOUNDS'] ?? 150);

const clips: Uint8Array[] = [];

beforeAll(async () => {
  // Node has no WebCodecs: only wav is decoded, and of other formats all packets are found.
  vi.stubGlobal('navigator', { userAgent: 'Node' });
  for (const format of FORMATS) clips.push(await readFile(clipPath(`sentence.${format}`)));
});
afterAll(() => vi.unstubAllGlobals());

async function read(file: Uint8Array<ArrayBuffer>): Promise<'decoded' | 'for the page' | 'refused'> {
  try {
    const sound = await openSound(new Blob([file]));
    if ('codec' in sound) return 'for the page';
    for await (const samples of sound) expect(samples.length).toBeLessThanOrEqual(16_000);
    return 'decoded';
  } catch (error) {
    if (error instanceof ServiceError && error.wire.status === 400) return 'refused';
    throw error;
  }
}

const KINDS = {
  'a file of sound': (index: number) => hostileSound(seed, index, clips).file,
  'a container of sound': (index: number) => {
    const random = new Random(seed * 2_000_003 + index);
    const format = random.pick(CONTAINERS);
    const clip = clips[FORMATS.findIndex((each) => each === format)];
    return hostileContainer(random, clip ?? new Uint8Array(), format);
  },
};

test.for(Object.entries(KINDS))(
  `%s is read to its end or refused (${sounds}, seed ${seed})`,
  { timeout: 60_000 + sounds * 100 },
  async ([kind, make]) => {
    const counts = { decoded: 0, 'for the page': 0, refused: 0 };
    for (let index = 0; index < sounds; index++) {
      const file = make(index);
      const steps = await stepsOf(async () => {
        counts[await read(file)]++;
      });
      expect(steps, `file ${index} of seed ${seed}`).toBeLessThan(STEPS_OF_A_SECOND);
    }
    console.log(`${sounds} times ${kind}, seed ${seed}: ${JSON.stringify(counts)}`);
    // Otherwise the files are not what they are to be.
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
  },
);
