import { difference, ratio, type Row } from '../row.ts';
import { longText } from './long-text.ts';
import {
  type Generation,
  generateRaw,
  generateThroughV1,
  type Messages,
  type RawSettings,
  story,
  tokensPerSecond,
} from './engines.ts';

interface PairOptions {
  rounds: number;
  maxTokens: number;
  settings: RawSettings;
  messages(round: number): Messages;
  pick(generation: Generation): number;
}

/** Raw and ours in turn, after a first word of each; the order is swapped every round. */
async function pairs(options: PairOptions): Promise<{ raw: number[]; ours: number[] }> {
  const { rounds, maxTokens, settings, messages, pick } = options;
  const raw: number[] = [];
  const ours: number[] = [];
  await generateRaw(story, 2, settings);
  await generateThroughV1(story, 2);
  for (let round = 0; round < rounds; round++) {
    const measureRaw = async (): Promise<number> =>
      raw.push(pick(await generateRaw(messages(round), maxTokens, settings)));
    const measureOurs = async (): Promise<number> =>
      ours.push(pick(await generateThroughV1(messages(round), maxTokens)));
    for (const measure of round % 2 === 0 ? [measureRaw, measureOurs] : [measureOurs, measureRaw])
      await measure();
  }
  return { raw, ours };
}

const DECODED = 64;

export async function decode(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds,
    maxTokens: DECODED,
    settings: 'ours',
    messages: () => story,
    pick: tokensPerSecond,
  });
  return ratio(
    'decode through the SDK and /v1 ÷ the raw engine',
    { 'ours, tokens/s': ours },
    { 'raw, tokens/s': raw },
    { atLeast: 0.98 },
  );
}

const LETTER = `Dear Ms Weaver, thank you for your order of 12 March. The blue kettle, number 4471, left our shop in Leeds on
Thursday and should reach you by 19 March. The two cups are sold out until April; we return their price of 18 pounds to your
account at the Northern Bank. Please call Tom Baker on 0113 496 0042 if you have any questions. Kind regards, Anna Lind`;
const COPIED = 96;

/** Replies that repeat much of their prompt: ours drafts tokens from it, the raw engine computes each. */
export async function drafts(rounds: number): Promise<Row[]> {
  const row = async (name: string, content: string): Promise<Row> => {
    const { raw, ours } = await pairs({
      rounds,
      maxTokens: COPIED,
      settings: 'ours',
      messages: () => [{ role: 'user', content }],
      pick: tokensPerSecond,
    });
    const sides = [{ 'ours, tokens/s': ours }, { 'raw, tokens/s': raw }] as const;
    return ratio(`${name}: decode through /v1 ÷ the raw engine, which drafts nothing`, ...sides, {
      atLeast: 1.6,
    });
  };
  return [
    await row('rewriting', `${LETTER}\n\nRepeat this letter word for word.`),
    await row('extraction', `${LETTER}\n\nCopy the sentences of this letter that have a number, as a list.`),
  ];
}

/** Words of the prompt of a row, about a third of its tokens: the package's own file takes half a minute for twice as many. */
const PREFILLED = 60;

export async function decodePackage(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds,
    maxTokens: DECODED,
    settings: 'package',
    messages: () => story,
    pick: tokensPerSecond,
  });
  return ratio(
    "decode through the SDK and /v1 ÷ the package's own WASM",
    { 'ours, tokens/s': ours },
    { "the package's, tokens/s": raw },
    { atLeast: 2.8 },
  );
}

export async function prefillPackage(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds,
    maxTokens: 1,
    settings: 'package',
    messages: (round) => [{ role: 'user', content: longText(PREFILLED, `k${round}`) }],
    pick: ({ firstTokenMs }) => firstTokenMs,
  });
  return ratio(
    "prefill through the SDK and /v1 ÷ the package's own WASM",
    { "the package's, ms": raw },
    { 'ours, ms': ours },
    { atLeast: 5 },
  );
}

export async function firstToken(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds: rounds * 4,
    maxTokens: 2,
    settings: 'ours',
    messages: () => story,
    pick: ({ firstTokenMs }) => firstTokenMs,
  });
  return difference(
    "first token through /v1 − the raw engine's",
    { 'ours, ms': ours },
    { 'raw, ms': raw },
    { atMost: 10 },
  );
}

export async function prefill(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds,
    maxTokens: 1,
    settings: 'large-batches',
    messages: (round) => [{ role: 'user', content: longText(120, `p${round}`) }],
    pick: ({ firstTokenMs }) => firstTokenMs,
  });
  return ratio(
    "prefill in pieces: its speed ÷ the raw engine's in batches of 512",
    { 'raw, ms': raw },
    { 'ours, ms': ours },
    { atLeast: 0.95 },
  );
}
