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

/** A text of 3 to 300 tokens, as a search index is made of. */
async function timeMixed(rounds: number): Promise<Record<'loop' | 'batches' | 'ours', number[]>> {
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
  return { loop, batches, ours };
}

export async function mixed(rounds: number): Promise<Row[]> {
  const { loop, batches, ours } = await timeMixed(rounds);
  return [
    {
      name: 'embeddings of 256 texts of 3 to 300 tokens: the plain loop ÷ ours',
      measures:
        'One request against the loop that calls the raw pipeline text by text; the same weights, in f32, and threads.',
      unit: 'ratio',
      values: quotients(loop, ours),
      goal: { atLeast: 1.3 },
      detail: { 'loop, ms': loop, 'ours, ms': ours },
    },
    {
      name: 'embeddings of 256 texts of 3 to 300 tokens: plain batches of 32 ÷ ours',
      measures: 'The same, against the raw pipeline called with 32 texts at a time, as they come.',
      unit: 'ratio',
      values: quotients(batches, ours),
      goal: { atLeast: 4 },
      detail: { 'batches, ms': batches, 'ours, ms': ours },
    },
  ];
}

/** The raw pipeline stays with the weights in f32: what a user would have without us. */
export async function mixedInt8(rounds: number): Promise<Row[]> {
  prefer(INT8_VARIANT);
  const { loop, batches, ours } = await timeMixed(rounds);
  await expectVariant(EMBEDDING_MODEL, INT8_VARIANT);
  return [
    {
      name: 'embeddings of the same 256 texts, ours in int8: the plain f32 loop ÷ ours',
      measures: `As above, with localtext started to prefer \`${INT8_VARIANT}\`; the raw pipeline has the weights in f32.`,
      unit: 'ratio',
      values: quotients(loop, ours),
      goal: { atLeast: 2 },
      detail: { 'loop, ms': loop, 'ours, ms': ours },
    },
    {
      name: 'embeddings of the same 256 texts, ours in int8: plain f32 batches of 32 ÷ ours',
      measures: 'The same, against the raw pipeline called with 32 texts at a time, as they come.',
      unit: 'ratio',
      values: quotients(batches, ours),
      goal: { atLeast: 6 },
      detail: { 'batches, ms': batches, 'ours, ms': ours },
    },
  ];
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
