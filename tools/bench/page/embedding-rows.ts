import { ratio, type Row } from '../row.ts';
import { texts } from './embedding-texts.ts';
import { EMBEDDING_MODEL, expectVariant, FLOAT_VARIANT, INT8_VARIANT, openai, prefer } from './engines.ts';
import { rawEmbedding } from './raw-embedding.ts';
import { elapsed } from './once.ts';

async function timeRawLoop(inputs: string[]): Promise<number> {
  const pipeline = await rawEmbedding();
  return elapsed(async () => {
    for (const input of inputs) await pipeline(input, { pooling: 'mean', normalize: true });
  });
}

async function timeRawBatches(inputs: string[], size: number): Promise<number> {
  const pipeline = await rawEmbedding();
  const began = performance.now();
  for (let at = 0; at < inputs.length; at += size)
    await pipeline(inputs.slice(at, at + size), { pooling: 'mean', normalize: true });
  return performance.now() - began;
}

async function timeOurs(inputs: string[]): Promise<number> {
  const client = await openai();
  return elapsed(() => client.embeddings.create({ model: EMBEDDING_MODEL, input: inputs }));
}

async function warm(): Promise<void> {
  const inputs = texts(4, 5, 12);
  await timeRawLoop(inputs);
  await timeOurs(inputs);
}

export async function short(rounds: number): Promise<Row> {
  const inputs = texts(32, 5, 12);
  const raw: number[] = [];
  const ours: number[] = [];
  prefer(FLOAT_VARIANT);
  await warm();
  for (let round = 0; round < rounds * 4; round++) {
    raw.push(await timeRawBatches(inputs, 32));
    ours.push(await timeOurs(inputs));
  }
  return ratio(
    'embeddings of 32 short texts: one raw batch ÷ ours',
    { 'raw, ms': raw },
    { 'ours, ms': ours },
    { atLeast: 0.95 },
  );
}

interface Mixed {
  /** The rows' names, up to what ours is compared with. */
  what: string;
  loopIs: string;
  batchesAre: string;
  variant: string;
  goals: { loop: number; batches: number };
}

/** Texts of 3 to 300 tokens, as a search index is made of. */
async function mixedRows(
  rounds: number,
  { what, loopIs, batchesAre, variant, goals }: Mixed,
): Promise<Row[]> {
  const inputs = texts(256, 1, 298);
  const loop: number[] = [];
  const batches: number[] = [];
  const ours: number[] = [];
  prefer(variant);
  await warm();
  await expectVariant(EMBEDDING_MODEL, variant);
  for (let round = 0; round < rounds; round++) {
    loop.push(await timeRawLoop(inputs));
    ours.push(await timeOurs(inputs));
    batches.push(await timeRawBatches(inputs, 32));
  }
  return [
    ratio(`${what}: ${loopIs} ÷ ours`, { 'loop, ms': loop }, { 'ours, ms': ours }, { atLeast: goals.loop }),
    ratio(
      `${what}: ${batchesAre} ÷ ours`,
      { 'batches, ms': batches },
      { 'ours, ms': ours },
      { atLeast: goals.batches },
    ),
  ];
}

export const mixed = (rounds: number): Promise<Row[]> =>
  mixedRows(rounds, {
    what: 'embeddings of 256 texts of 3 to 300 tokens',
    loopIs: 'the plain loop',
    batchesAre: 'plain batches of 32',
    variant: FLOAT_VARIANT,
    goals: { loop: 1.5, batches: 4 },
  });

/** The raw pipeline stays with the weights in f32: what a user would have without us. */
export const mixedInt8 = (rounds: number): Promise<Row[]> =>
  mixedRows(rounds, {
    what: 'embeddings of the same 256 texts, ours in int8',
    loopIs: 'the plain f32 loop',
    batchesAre: 'plain f32 batches of 32',
    variant: INT8_VARIANT,
    goals: { loop: 2.8, batches: 6 },
  });

export async function concurrent(rounds: number): Promise<Row> {
  const inputs = texts(64, 5, 12);
  const inTurn: number[] = [];
  const together: number[] = [];
  await timeOurs(['warm']);
  for (let round = 0; round < rounds * 2; round++) {
    let sum = 0;
    for (const input of inputs) sum += await timeOurs([input]);
    inTurn.push(sum);
    together.push(await elapsed(() => Promise.all(inputs.map((input) => timeOurs([input])))));
  }
  return ratio(
    '64 one-text embedding requests: in turn ÷ together',
    { 'in turn, ms': inTurn },
    { 'together, ms': together },
    { atLeast: 1.5 },
  );
}
