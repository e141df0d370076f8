import type { Row } from '../row.ts';
import { type Generation, generateRaw, generateThroughV1 } from './engines.ts';

const messages = [{ role: 'user' as const, content: 'Write a story about a fox and a crow.' }];

/** Raw and ours in turn, the first of each not counted; the order is swapped every round. */
async function pairs(
  rounds: number,
  maxTokens: number,
  pick: (generation: Generation) => number,
): Promise<{ raw: number[]; ours: number[] }> {
  const raw: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const measureRaw = async (): Promise<number> => raw.push(pick(await generateRaw(messages, maxTokens)));
    const measureOurs = async (): Promise<number> =>
      ours.push(pick(await generateThroughV1(messages, maxTokens)));
    for (const measure of round % 2 === 0 ? [measureRaw, measureOurs] : [measureOurs, measureRaw])
      await measure();
  }
  return { raw: raw.slice(1), ours: ours.slice(1) };
}

export async function decode(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs(rounds, 64, ({ deltas, decodeMs }) => (deltas - 1) / (decodeMs / 1000));
  return {
    name: 'decode through the SDK and /v1 ÷ the raw engine',
    unit: 'ratio',
    values: ours.map((value, index) => value / (raw[index] ?? Number.NaN)),
    goal: { atLeast: 0.98 },
    detail: { 'raw tokens/s': raw, 'ours tokens/s': ours },
  };
}

export async function firstToken(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs(rounds, 2, ({ firstTokenMs }) => firstTokenMs);
  return {
    name: "first token through /v1 − the raw engine's",
    unit: 'ms',
    values: ours.map((value, index) => value - (raw[index] ?? Number.NaN)),
    goal: { atMost: 10 },
    detail: { 'raw ms': raw, 'ours ms': ours },
  };
}
