import { differences, quotients, type Row } from '../row.ts';
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
  return {
    name: 'decode through the SDK and /v1 ÷ the raw engine',
    measures: `Tokens a second between the first and the last of ${DECODED}, one stream. The raw engine is wllama in the same page, with the settings that we load it with: what is left is the way through service worker and SDK.`,
    unit: 'ratio',
    values: quotients(ours, raw),
    goal: { atLeast: 0.98 },
    detail: { 'raw, tokens/s': raw, 'ours, tokens/s': ours },
  };
}

export async function decodePlain(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds,
    maxTokens: DECODED,
    settings: 'plain',
    messages: () => story,
    pick: tokensPerSecond,
  });
  return {
    name: 'decode through the SDK and /v1 ÷ the raw engine with its own settings',
    measures:
      'The same, but wllama is loaded with nothing but the length of the context: what a user would have at first.',
    unit: 'ratio',
    values: quotients(ours, raw),
    detail: { 'raw, tokens/s': raw, 'ours, tokens/s': ours },
  };
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
  return {
    name: "decode through the SDK and /v1 ÷ the package's own WASM",
    measures: `Tokens a second between the first and the last of ${DECODED}. The other side is wllama in the same page, in its own WASM file, with the settings that we load it with: what the kernels gain.`,
    unit: 'ratio',
    values: quotients(ours, raw),
    goal: { atLeast: 2.8 },
    detail: { "the package's, tokens/s": raw, 'ours, tokens/s': ours },
  };
}

export async function prefillPackage(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds,
    maxTokens: 1,
    settings: 'package',
    messages: (round) => [{ role: 'user', content: longText(PREFILLED, `k${round}`) }],
    pick: ({ firstTokenMs }) => firstTokenMs,
  });
  return {
    name: "prefill through the SDK and /v1 ÷ the package's own WASM",
    measures:
      'Time to the first token of prompts of some hundred tokens, each a new one. The other side is wllama in the same page, in its own WASM file, with the settings that we load it with.',
    unit: 'ratio',
    values: quotients(raw, ours),
    goal: { atLeast: 5 },
    detail: { "the package's, ms": raw, 'ours, ms': ours },
  };
}

export async function firstToken(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds: rounds * 4,
    maxTokens: 2,
    settings: 'ours',
    messages: () => story,
    pick: ({ firstTokenMs }) => firstTokenMs,
  });
  return {
    name: "first token through /v1 − the raw engine's",
    measures:
      'Time from the call to the first token, of a prompt that both have in their cache, so that the model has least to do. Both hand the first token out when the second is computed.',
    unit: 'ms',
    values: differences(ours, raw),
    goal: { atMost: 10 },
    detail: { 'raw, ms': raw, 'ours, ms': ours },
  };
}

export async function prefill(rounds: number): Promise<Row> {
  const { raw, ours } = await pairs({
    rounds,
    maxTokens: 1,
    settings: 'large-batches',
    messages: (round) => [{ role: 'user', content: longText(120, `p${round}`) }],
    pick: ({ firstTokenMs }) => firstTokenMs,
  });
  return {
    name: "prefill in pieces: its speed ÷ the raw engine's in batches of 512",
    measures:
      'Time to the first token of prompts of about 750 tokens, each a new one. The raw engine computes them in the batches that are its own default; nothing can be aborted, or go before, inside such a batch.',
    unit: 'ratio',
    values: quotients(raw, ours),
    goal: { atLeast: 0.95 },
    detail: { 'raw, ms': raw, 'ours, ms': ours },
  };
}

/** Alternative settings that localtext's are compared with, by the names in the rows. */
const ALTERNATIVES = [
  ['f16-cache', 'with a KV cache in f16'],
  ['all-threads', 'with a thread for each logical processor'],
] as const satisfies [RawSettings, string][];

/** Prefill and decode through /v1, beside the raw engine with another choice of one setting. */
export async function settingsRows(rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, choice] of ALTERNATIVES) {
    const shared = { rounds, settings: name };
    const decoded = await pairs({
      ...shared,
      maxTokens: DECODED,
      messages: () => story,
      pick: tokensPerSecond,
    });
    const prefilled = await pairs({
      ...shared,
      maxTokens: 1,
      messages: (round) => [{ role: 'user', content: longText(120, `${name}${round}`) }],
      pick: ({ firstTokenMs }) => firstTokenMs,
    });
    const other = `the raw engine ${choice}`;
    rows.push(
      {
        name: `decode through the SDK and /v1 ÷ ${other}`,
        measures: `Tokens a second between the first and the last of ${DECODED}. The raw engine has our WASM, and all our settings but this.`,
        unit: 'ratio',
        values: quotients(decoded.ours, decoded.raw),
        detail: { 'raw, tokens/s': decoded.raw, 'ours, tokens/s': decoded.ours },
      },
      {
        name: `prefill through the SDK and /v1 ÷ ${other}`,
        measures:
          'Time to the first token of prompts of about 750 tokens, each a new one; the same two sides.',
        unit: 'ratio',
        values: quotients(prefilled.raw, prefilled.ours),
        detail: { 'raw, ms': prefilled.raw, 'ours, ms': prefilled.ours },
      },
    );
  }
  return rows;
}
