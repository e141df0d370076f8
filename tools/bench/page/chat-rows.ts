import { difference, inTurn, ratio, type Row } from '../row.ts';
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

interface Both {
  settings: RawSettings;
  maxTokens: number;
  messages?(round: number): Messages;
  pick(generation: Generation): number;
}

/** A reply through the SDK, and one of the raw engine; each has said its first word. */
async function both({ settings, maxTokens, messages = () => story, pick }: Both) {
  await generateRaw(story, 2, settings);
  await generateThroughV1(story, 2);
  return {
    ours: async (round: number) => pick(await generateThroughV1(messages(round), maxTokens)),
    raw: async (round: number) => pick(await generateRaw(messages(round), maxTokens, settings)),
  };
}

const DECODED = 64;
const firstTokenOf = ({ firstTokenMs }: Generation): number => firstTokenMs;

export async function decode(rounds: number): Promise<Row> {
  const { ours, raw } = await both({ settings: 'ours', maxTokens: DECODED, pick: tokensPerSecond });
  const figures = await inTurn(rounds * 4, { 'ours, tokens/s': ours, 'raw, tokens/s': raw });
  return ratio('decode through the SDK and /v1 ÷ the raw engine', figures, { atLeast: 0.98 });
}

export async function decodePackage(rounds: number): Promise<Row> {
  const { ours, raw } = await both({ settings: 'package', maxTokens: DECODED, pick: tokensPerSecond });
  const figures = await inTurn(rounds, { 'ours, tokens/s': ours, "the package's, tokens/s": raw });
  return ratio("decode through the SDK and /v1 ÷ the package's own WASM", figures, { atLeast: 2.8 });
}

const LETTER = `Dear Ms Weaver, thank you for your order of 12 March. The blue kettle, number 4471, left our shop in Leeds on
Thursday and should reach you by 19 March. The two cups are sold out until April; we return their price of 18 pounds to your
account at the Northern Bank. Please call Tom Baker on 0113 496 0042 if you have any questions. Kind regards, Anna Lind`;

/** Replies that repeat much of their prompt: ours drafts tokens from it, the raw engine computes each. */
export async function drafts(rounds: number): Promise<Row[]> {
  const row = async (name: string, content: string): Promise<Row> => {
    const messages = (): Messages => [{ role: 'user', content }];
    const { ours, raw } = await both({ settings: 'ours', maxTokens: 96, messages, pick: tokensPerSecond });
    const figures = await inTurn(rounds, { 'ours, tokens/s': ours, 'raw, tokens/s': raw });
    const what = `${name}: decode through /v1 ÷ the raw engine, which drafts nothing`;
    return ratio(what, figures, { atLeast: 1.6 });
  };
  return [
    await row('rewriting', `${LETTER}\n\nRepeat this letter word for word.`),
    await row('extraction', `${LETTER}\n\nCopy the sentences of this letter that have a number, as a list.`),
  ];
}

/** Words of the prompt of a row, about a third of its tokens: the package's own file takes half a minute for twice as many. */
const PREFILLED = 60;

export async function prefillPackage(rounds: number): Promise<Row> {
  const { ours, raw } = await both({
    settings: 'package',
    maxTokens: 1,
    messages: (round) => [{ role: 'user', content: longText(PREFILLED, `k${round}`) }],
    pick: firstTokenOf,
  });
  const figures = await inTurn(rounds, { "the package's, ms": raw, 'ours, ms': ours });
  return ratio("prefill through the SDK and /v1 ÷ the package's own WASM", figures, { atLeast: 5 });
}

export async function firstToken(rounds: number): Promise<Row> {
  const { ours, raw } = await both({ settings: 'ours', maxTokens: 2, pick: firstTokenOf });
  const figures = await inTurn(rounds * 4, { 'ours, ms': ours, 'raw, ms': raw });
  return difference("first token through /v1 − the raw engine's", figures, { atMost: 10 });
}

export async function prefill(rounds: number): Promise<Row> {
  const { ours, raw } = await both({
    settings: 'large-batches',
    maxTokens: 1,
    messages: (round) => [{ role: 'user', content: longText(120, `p${round}`) }],
    pick: firstTokenOf,
  });
  const figures = await inTurn(rounds, { 'raw, ms': raw, 'ours, ms': ours });
  return ratio("prefill in pieces: its speed ÷ the raw engine's in batches of 512", figures, {
    atLeast: 0.95,
  });
}
