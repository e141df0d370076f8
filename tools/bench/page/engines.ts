import OpenAI from 'openai';
import { start, type Localtext } from '../../../src/index.ts';

import type { Catalog } from '../../../src/catalog/catalog.ts';
import { once } from './once.ts';
import { rawChat, type RawSettings } from './raw-chat.ts';

export type { RawSettings };

export const CHAT_MODEL = 'amber-phoenix-4';
export const EMBEDDING_MODEL = 'jade-mole-4';
export const FLOAT_VARIANT = 'all-minilm-l6-v2-f32';
export const INT8_VARIANT = 'all-minilm-l6-v2-int8';

let preferred: string[] = [];

/** Variants by name, before any call of localtext in this page. */
export function prefer(...variants: string[]): void {
  preferred = variants;
}

export const localtext = once(() => start({ prefer: preferred }));

export const openai = once(async () => clientOf(await localtext()));

export async function clientOf({ baseURL, keys }: Localtext): Promise<OpenAI> {
  const { key } = await keys.issue({
    label: 'bench',
    limits: { requestsPerMinute: 1e6, tokensPerMinute: 1e9, inFlight: 1000 },
  });
  return new OpenAI({ baseURL, apiKey: key, dangerouslyAllowBrowser: true, maxRetries: 0 });
}

/** What a model runs as in this page; empty until it is loaded. */
export async function fingerprintOf(handle: Localtext, model: string): Promise<string> {
  const { models } = await handle.status();
  return models.find(({ id }) => id === model)?.fingerprint ?? '';
}

/** Starts localtext with a catalog, once in a page. */
let other: Promise<{ handle: Localtext; client: OpenAI }> | null = null;
export const withCatalog = (catalog: Catalog): Promise<{ handle: Localtext; client: OpenAI }> =>
  (other ??= start({ catalog }).then(async (handle) => ({ handle, client: await clientOf(handle) })));

export interface Generation {
  firstTokenMs: number;
  /** Time from the first token to the last. */
  decodeMs: number;
  tokens: number;
  text: string;
}

export const tokensPerSecond = ({ tokens, decodeMs }: Generation): number => (tokens - 1) / (decodeMs / 1000);

export type Messages = { role: 'user' | 'system' | 'assistant'; content: string }[];

export const story: Messages = [{ role: 'user', content: 'Write a story about a fox and a crow.' }];

export async function generateRaw(
  messages: Messages,
  maxTokens: number,
  settings: RawSettings,
): Promise<Generation> {
  const wllama = await rawChat(settings, await engineThreads());
  // One chunk is one token.
  let tokens = 0;
  return timed(async (onDelta) => {
    await wllama.createChatCompletion({
      messages,
      max_tokens: maxTokens,
      temperature: 0,
      stream: true,
      onData(chunk) {
        const text = chunk.choices[0]?.delta.content ?? '';
        if (text !== '') tokens++;
        onDelta(text);
      },
    });
    return tokens;
  });
}

export const generateThroughV1 = async (
  messages: Messages,
  maxTokens: number,
  parameters?: GenerationParameters,
): Promise<Generation> => generateBy(await openai(), CHAT_MODEL, messages, maxTokens, parameters);

type GenerationParameters = Pick<OpenAI.ChatCompletionCreateParams, 'logit_bias'>;

/** Keeps SmolLM2 from ending a reply, so that replies have the same length. */
export const ENDLESS: GenerationParameters = { logit_bias: { 2: -100 } };

export function generateBy(
  client: OpenAI,
  model: string,
  messages: Messages,
  maxTokens: number,
  parameters: GenerationParameters = {},
): Promise<Generation> {
  return timed(async (onDelta) => {
    const stream = await client.chat.completions.create({
      ...parameters,
      model,
      messages,
      max_tokens: maxTokens,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    });
    let tokens = 0;
    for await (const chunk of stream) {
      onDelta(chunk.choices[0]?.delta.content ?? '');
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    return tokens;
  });
}

/** Fail rather than report a row for the wrong weights. */
export async function expectVariant(model: string, variant: string): Promise<void> {
  const fingerprint = await fingerprintOf(await localtext(), model);
  if (!fingerprint.startsWith(variant)) throw new Error(`${model} runs on ${fingerprint}, not on ${variant}`);
}

/** Threads of our engine, once it is loaded. The raw one gets as many. */
export const engineThreads = once(async (): Promise<number> => {
  const handle = await localtext();
  await handle.ready(CHAT_MODEL);
  const fingerprint = await fingerprintOf(handle, CHAT_MODEL);
  const [, threads] = /-wasm-(\d+)t$/.exec(fingerprint) ?? [];
  if (threads === undefined)
    throw new Error(`the rows on the raw engine want one on the CPU, and ours is ${fingerprint}`);
  return Number(threads);
});

export async function timed(
  generate: (onDelta: (text: string) => void) => Promise<number>,
): Promise<Generation> {
  const began = performance.now();
  let first = 0;
  let last = 0;
  let text = '';
  const tokens = await generate((delta) => {
    if (delta === '') return;
    last = performance.now();
    first ||= last;
    text += delta;
  });
  return { firstTokenMs: first - began, decodeMs: last - first, tokens, text };
}
