import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';

import { small } from '../support/small-variant.ts';
import { ServiceError } from '../../src/base/errors/service-error.ts';
import { compileSchema } from '../../src/grammar/compile-schema.ts';
import { Random } from '../chaos/random.ts';
import { firstLayers } from '../support/first-layers.ts';
import { anySchema } from '../support/grammar/any-schemas.ts';
import { randomSchema } from '../support/grammar/random-schemas.ts';
import { validator } from '../support/grammar/validate.ts';
import { LlamaServer } from '../support/llama-server/llama-server.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** llama.cpp itself, with a model that says anything, under the grammars of generated schemas. */

const SEED = Number(process.env['LOCALTEXT_SCHEMAS_SEED'] ?? 20_261_125);
const SCHEMAS = Number(process.env['LOCALTEXT_SCHEMAS'] ?? 500);
const MAX_TOKENS = 150;

let llama: LlamaServer;
let folder: string;

beforeAll(async () => {
  folder = await tempFolder('json-schemas');
  const weights = join(folder, 'two-layers.gguf');
  await writeFile(weights, await firstLayers(`public/models/${small.files[0]?.path}`, 2));
  llama = await LlamaServer.start(weights, 'secret');
});

/** Every fourth has keywords at random. What cannot be enforced is passed over. */
function nextSchema(random: Random, index: number): { schema: Record<string, unknown>; gbnf: string } {
  for (;;) {
    const schema = index % 4 === 3 ? anySchema(random) : randomSchema(random);
    try {
      return { schema, gbnf: compileSchema(JSON.stringify(schema)).gbnf };
    } catch (error) {
      if (index % 4 !== 3 || !(error instanceof ServiceError)) throw error;
    }
  }
}

test(`replies at temperature 1.5 to ${SCHEMAS} schemas are valid`, { timeout: 3_600_000 }, async () => {
  const random = new Random(SEED);
  const faults: object[] = [];
  let finished = 0;
  for (let index = 0; index < SCHEMAS; index++) {
    const { schema, gbnf } = nextSchema(random, index);
    const { text, isWhole } = await llama.complete({
      prompt: 'JSON: ',
      grammar: gbnf,
      temperature: 1.5,
      seed: index,
      n_predict: MAX_TOKENS,
    });
    if (!isWhole) continue;
    finished++;
    const fault = validator(schema)(text);
    if (fault !== null) faults.push({ index, fault, text, schema });
  }
  console.log(`${finished} of ${SCHEMAS} replies were complete.`);
  expect(faults).toEqual([]);
  expect(finished).toBeGreaterThan(SCHEMAS / 2);
});
