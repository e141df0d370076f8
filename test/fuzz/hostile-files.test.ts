import { expect, test } from 'vitest';

import { FormatError, readHeader, startOfBlob } from '../../src/gguf/byte-cursor.ts';
import { inspectModel, type ModelFile } from '../../src/gguf/inspect-model.ts';
import { readSafetensors } from '../../src/gguf/read-safetensors.ts';
import { Random } from '../chaos/random.ts';
import { STEPS_OF_A_SECOND, stepsOf } from '../support/steps-of.ts';
import { chatMetadata, oneTensor, writeGguf } from '../support/write-gguf.ts';
import { hostileFile, type HostileFile } from './hostile-file.ts';
import { seed } from './seed.ts';

const files = Number(process.env['LOCALTEXT_FUZZ_FILES'] ?? 250);

const MAX_CONTEXT = 2 ** 27;
const MAX_MESSAGE = 400;

const chosen = (name: string, bytes: Buffer<ArrayBuffer>): ModelFile => ({
  ...startOfBlob(new Blob([bytes])),
  name,
});
const model = chosen('model.gguf', writeGguf({ metadata: chatMetadata, tensors: [oneTensor] }));

/** What a page is told of a file that is accepted. */
async function inspect({ kind, file }: HostileFile): Promise<void> {
  if (kind === 'safetensors') {
    const tensors = await readHeader(startOfBlob(new Blob([file])), readSafetensors);
    for (const { offset, length } of tensors.values())
      expect(offset + length).toBeLessThanOrEqual(file.length);
    return;
  }
  const given = chosen(`${kind}.gguf`, file);
  const { traits, name, bytes } = await inspectModel(kind === 'model' ? [given] : [model, given]);
  expect(name.length).toBeLessThanOrEqual(100);
  expect(bytes).toBeLessThanOrEqual(file.length + model.size);
  expect(traits.contextLength).toBeGreaterThan(0);
  expect(traits.contextLength).toBeLessThanOrEqual(MAX_CONTEXT);
  expect(traits.kvValues).toBeGreaterThanOrEqual(0);
  expect(Number.isFinite(traits.kvValues)).toBe(true);
}

test(
  `a model's file is described within bounds or refused (${files}, seed ${seed})`,
  { timeout: 60_000 + files * 100 },
  async () => {
    const counts: Record<string, number> = {};
    for (let index = 0; index < files; index++) {
      const hostile = hostileFile(new Random(seed * 3_000_003 + index));
      const steps = await stepsOf(async () => {
        const said = await inspect(hostile).then(
          () => 'accepted',
          (error: unknown) => {
            if (error instanceof FormatError) {
              expect(error.message).not.toMatch(/\p{Cc}/u);
              expect(error.message.length).toBeLessThanOrEqual(MAX_MESSAGE);
              return 'refused';
            }
            throw new Error(`${hostile.kind} ${index} of seed ${seed}`, { cause: error });
          },
        );
        const outcome = `${hostile.kind} ${said}`;
        counts[outcome] = (counts[outcome] ?? 0) + 1;
      });
      expect(steps, `file ${index} of seed ${seed}`).toBeLessThan(STEPS_OF_A_SECOND);
    }
    console.log(`${files} files of models, seed ${seed}: ${JSON.stringify(counts)}`);
    // Otherwise the files are not what they are to be.
    expect(Object.keys(counts)).toHaveLength(6);
  },
);
