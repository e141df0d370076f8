import { inTurn, ratio, type Row } from '../row.ts';
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
  return elapsed(async () => {
    for (let at = 0; at < inputs.length; at += size)
      await pipeline(inputs.slice(at, at + size), { pooling: 'mean', normalize: true });
  });
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
  prefer(FLOAT_VARIANT);
  await warm();
  const figures = await inTurn(rounds * 4, {
    'raw, ms': () => timeRawBatches(inputs, 32),
    'ours, ms': () => timeOurs(inputs),
  });
  return ratio('embeddings of 32 short texts: one raw batch ÷ ours', figures, { atLeast: 0.95 });
}

/** Texts of 3 to 300 tokens, as a search index is made of. */
async function mixedRows(
  rounds: number,
  variant: string,
  what: string,
  goals: { loop: number; batches: number },
): Promise<Row[]> {
  const inputs = texts(256, 1, 298);
  prefer(variant);
  await warm();
  await expectVariant(EMBEDDING_MODEL, variant);
  const {
    'loop, ms': loop,
    'ours, ms': ours,
    'batches, ms': batches,
  } = await inTurn(rounds, {
    'loop, ms': () => timeRawLoop(inputs),
    'ours, ms': () => timeOurs(inputs),
    'batches, ms': () => timeRawBatches(inputs, 32),
  });
  return [
    ratio(
      `${what}: the plain f32 loop ÷ ours`,
      { 'loop, ms': loop, 'ours, ms': ours },
      { atLeast: goals.loop },
    ),
    ratio(
      `${what}: plain f32 batches of 32 ÷ ours`,
      { 'batches, ms': batches, 'ours, ms': ours },
      { atLeast: goals.batches },
    ),
  ];
}

export const mixed = (rounds: number): Promise<Row[]> =>
  mixedRows(rounds, FLOAT_VARIANT, 'embeddings of 256 texts of 3 to 300 tokens', { loop: 1.5, batches: 4 });

/** The raw pipeline stays with the weights in f32: what a user would have without us. */
export const mixedInt8 = (rounds: number): Promise<Row[]> =>
  mixedRows(rounds, INT8_VARIANT, 'embeddings of the same 256 texts, ours in int8', {
    loop: 2.8,
    batches: 6,
  });

export async function concurrent(rounds: number): Promise<Row> {
  const inputs = texts(64, 5, 12);
  await timeOurs(['warm']);
  const figures = await inTurn(rounds * 2, {
    'in turn, ms': () =>
      elapsed(async () => {
        for (const input of inputs) await timeOurs([input]);
      }),
    'together, ms': () => elapsed(() => Promise.all(inputs.map((input) => timeOurs([input])))),
  });
  return ratio('64 one-text embedding requests: in turn ÷ together', figures, { atLeast: 1.5 });
}
