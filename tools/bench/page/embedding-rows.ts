import { quotients, type Row } from '../row.ts';
import { texts } from './embedding-texts.ts';
import { EMBEDDING_MODEL, expectVariant, INT8_VARIANT, openai, prefer } from './engines.ts';
import { rawEmbedding } from './raw-embedding.ts';

async function timeRawLoop(inputs: string[]): Promise<number> {
  const pipeline = await rawEmbedding();
  const began = performance.now();
  for (const input of inputs) await pipeline(input, { pooling: 'mean', normalize: true });
  return performance.now() - began;
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
  const began = performance.now();
  await client.embeddings.create({ model: EMBEDDING_MODEL, input: inputs });
  return performance.now() - began;
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
  await warm();
  for (let round = 0; round < rounds * 4; round++) {
    raw.push(await timeRawBatches(inputs, 32));
    ours.push(await timeOurs(inputs));
  }
  return {
    name: 'embeddings of 32 short texts: one raw batch ÷ ours',
    measures:
      'One request, of texts of 7 to 14 tokens, against one call of the raw pipeline with all of them.',
    unit: 'ratio',
    values: quotients(raw, ours),
    goal: { atLeast: 0.95 },
    detail: { 'raw, ms': raw, 'ours, ms': ours },
  };
}

interface Mixed {
  /** The rows' names, up to what ours is compared with. */
  what: string;
  loopIs: string;
  batchesAre: string;
  measures: string;
  goals: { loop: number; batches: number };
}

/** Texts of 3 to 300 tokens, as a search index is made of. */
async function mixedRows(
  rounds: number,
  { what, loopIs, batchesAre, measures, goals }: Mixed,
): Promise<Row[]> {
  const inputs = texts(256, 1, 298);
  const loop: number[] = [];
  const batches: number[] = [];
  const ours: number[] = [];
  await warm();
  for (let round = 0; round < rounds; round++) {
    loop.push(await timeRawLoop(inputs));
    ours.push(await timeOurs(inputs));
    batches.push(await timeRawBatches(inputs, 32));
  }
  return [
    {
      name: `${what}: ${loopIs} ÷ ours`,
      measures,
      unit: 'ratio',
      values: quotients(loop, ours),
      goal: { atLeast: goals.loop },
      detail: { 'loop, ms': loop, 'ours, ms': ours },
    },
    {
      name: `${what}: ${batchesAre} ÷ ours`,
      measures: 'The same, against the raw pipeline called with 32 texts at a time, as they come.',
      unit: 'ratio',
      values: quotients(batches, ours),
      goal: { atLeast: goals.batches },
      detail: { 'batches, ms': batches, 'ours, ms': ours },
    },
  ];
}

export const mixed = (rounds: number): Promise<Row[]> =>
  mixedRows(rounds, {
    what: 'embeddings of 256 texts of 3 to 300 tokens',
    loopIs: 'the plain loop',
    batchesAre: 'plain batches of 32',
    measures:
      'One request against the loop that calls the raw pipeline text by text; the same weights, in f32, and threads.',
    goals: { loop: 1.5, batches: 4 },
  });

/** The raw pipeline stays with the weights in f32: what a user would have without us. */
export async function mixedInt8(rounds: number): Promise<Row[]> {
  prefer(INT8_VARIANT);
  const rows = await mixedRows(rounds, {
    what: 'embeddings of the same 256 texts, ours in int8',
    loopIs: 'the plain f32 loop',
    batchesAre: 'plain f32 batches of 32',
    measures: `As above, with localtext started to prefer \`${INT8_VARIANT}\`; the raw pipeline has the weights in f32.`,
    goals: { loop: 2.8, batches: 6 },
  });
  await expectVariant(EMBEDDING_MODEL, INT8_VARIANT);
  return rows;
}

export async function concurrent(rounds: number): Promise<Row> {
  const inputs = texts(64, 5, 12);
  const inTurn: number[] = [];
  const together: number[] = [];
  await timeOurs(['warm']);
  for (let round = 0; round < rounds * 2; round++) {
    let began = performance.now();
    for (const input of inputs) await timeOurs([input]);
    inTurn.push(performance.now() - began);
    began = performance.now();
    await Promise.all(inputs.map((input) => timeOurs([input])));
    together.push(performance.now() - began);
  }
  return {
    name: '64 one-text embedding requests: in turn ÷ together',
    measures:
      'The same 64 short texts, a request each: each sent when the one before has been answered, and all sent at once.',
    unit: 'ratio',
    values: quotients(inTurn, together),
    goal: { atLeast: 1.5 },
    detail: { 'in turn, ms': inTurn, 'together, ms': together },
  };
}
