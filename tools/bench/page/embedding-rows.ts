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

async function timeRawBatch(inputs: string[]): Promise<number> {
  const pipeline = await rawEmbedding();
  return elapsed(() => pipeline(inputs, { pooling: 'mean', normalize: true }));
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
    'raw, ms': () => timeRawBatch(inputs),
    'ours, ms': () => timeOurs(inputs),
  });
  return ratio('embeddings of 32 short texts: one raw batch ÷ ours', figures, { atLeast: 0.95 });
}

/** Texts of 3 to 300 tokens, as a search index is made of. The raw pipeline has the weights in f32: what a user would have without us. */
async function mixedRow(rounds: number, variant: string, what: string, goal: number): Promise<Row> {
  const inputs = texts(256, 1, 298);
  prefer(variant);
  await warm();
  await expectVariant(EMBEDDING_MODEL, variant);
  const figures = await inTurn(rounds, {
    'loop, ms': () => timeRawLoop(inputs),
    'ours, ms': () => timeOurs(inputs),
  });
  return ratio(`${what}: the plain f32 loop ÷ ours`, figures, { atLeast: goal });
}

export const mixed = (rounds: number): Promise<Row> =>
  mixedRow(rounds, FLOAT_VARIANT, 'embeddings of 256 texts of 3 to 300 tokens', 0.95);

export const mixedInt8 = (rounds: number): Promise<Row> =>
  mixedRow(rounds, INT8_VARIANT, 'embeddings of the same 256 texts, ours in int8', 2);

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
