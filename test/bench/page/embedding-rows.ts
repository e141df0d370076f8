import type { Row } from '../row.ts';
import { EMBEDDING_MODEL, openai, rawEmbedding } from './engines.ts';

/** `count` texts of `fewest` to `most` words, the same in every run. */
export function texts(count: number, fewest: number, most: number): string[] {
  const words = 'the sea is wide and a small boat goes far over cold green water under stars'.split(' ');
  let state = 42;
  const next = (below: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state % below;
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: fewest + next(most - fewest + 1) }, () => words[next(words.length)]).join(' '),
  );
}

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

async function ratios(rounds: number, inputs: string[], time: () => Promise<number>): Promise<number[][]> {
  await Promise.all([timeRawLoop(inputs.slice(0, 1)), timeOurs(inputs.slice(0, 1))]);
  const raw: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round < rounds; round++) {
    raw.push(await time());
    ours.push(await timeOurs(inputs));
  }
  return [raw, ours];
}

async function row(
  name: string,
  goal: number,
  rounds: number,
  inputs: string[],
  time: () => Promise<number>,
): Promise<Row> {
  const [raw = [], ours = []] = await ratios(rounds, inputs, time);
  return {
    name,
    unit: 'ratio',
    values: raw.map((value, index) => value / (ours[index] ?? Number.NaN)),
    goal: { atLeast: goal },
    detail: { 'raw ms': raw, 'ours ms': ours },
  };
}

export async function embeddings(rounds: number): Promise<Row> {
  const inputs = texts(32, 5, 12);
  return row('embeddings of 32 short texts: one raw batch ÷ ours', 0.95, rounds, inputs, () =>
    timeRawBatches(inputs, 32),
  );
}

export async function embeddingsMixedLoop(rounds: number): Promise<Row> {
  const inputs = texts(256, 3, 300);
  return row('embeddings of 256 texts of 3 to 300 words: plain loop ÷ ours', 1.3, rounds, inputs, () =>
    timeRawLoop(inputs),
  );
}

export async function embeddingsMixedBatches(rounds: number): Promise<Row> {
  const inputs = texts(256, 3, 300);
  return row('embeddings of 256 texts of 3 to 300 words: batches of 32 ÷ ours', 4, rounds, inputs, () =>
    timeRawBatches(inputs, 32),
  );
}

export async function embeddingsConcurrent(rounds: number): Promise<Row> {
  const inputs = texts(64, 5, 12);
  const inTurn: number[] = [];
  const together: number[] = [];
  await timeOurs(['warm']);
  for (let round = 0; round < rounds; round++) {
    let began = performance.now();
    for (const input of inputs) await timeOurs([input]);
    inTurn.push(performance.now() - began);
    began = performance.now();
    await Promise.all(inputs.map((input) => timeOurs([input])));
    together.push(performance.now() - began);
  }
  return {
    name: '64 one-text embedding requests: in turn ÷ together',
    unit: 'ratio',
    values: inTurn.map((value, index) => value / (together[index] ?? Number.NaN)),
    goal: { atLeast: 1.5 },
    detail: { 'in turn ms': inTurn, 'together ms': together },
  };
}
