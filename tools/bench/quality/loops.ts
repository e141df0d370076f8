import { openAsBlob } from 'node:fs';

import type { VariantSampling } from '../../../src/catalog/default-sampling.ts';
import { startOfBlob } from '../../../src/gguf/byte-cursor.ts';
import { inspectModel } from '../../../src/gguf/inspect-model.ts';
import { chatPrompt, type ChatPrompt } from '../../../src/chat-template/chat-prompt.ts';
import { completionRequest } from '../../../src/engines/wllama/completion-format.ts';
import { LlamaServer } from '../../../test/support/llama-server/llama-server.ts';
import { openQuestions, quotations } from './questions.ts';

const MAX_TOKENS = 400;
const PARALLEL = 6;
/** A reply loops if a run of this many tokens comes this often. */
const RUN_TOKENS = 12;
const RUN_TIMES = 3;

/** One set of settings to compare. */
export interface LoopSettings extends VariantSampling {
  temperature?: number;
}

/** What the server answers a prompt. */
interface Told {
  content: string;
  tokens: number[];
  stop_type: string;
}

/** What the events of a stream say together. */
function joined(stream: string): Told {
  const events = [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Told);
  return {
    content: events.map(({ content }) => content).join(''),
    tokens: events.flatMap(({ tokens }) => tokens ?? []),
    stop_type: events.at(-1)?.stop_type ?? 'none',
  };
}

/** Whether a run of tokens comes too often; runs that overlap themselves count once. */
export function loops(tokens: readonly number[], length = RUN_TOKENS, times = RUN_TIMES): boolean {
  const seen = new Map<string, { count: number; end: number }>();
  for (let at = 0; at + length <= tokens.length; at++) {
    const run = tokens.slice(at, at + length).join(' ');
    const before = seen.get(run);
    if (before && at < before.end) continue;
    const count = (before?.count ?? 0) + 1;
    if (count >= times) return true;
    seen.set(run, { count, end: at + length });
  }
  return false;
}

/** Runs as many at once as the server answers. */
async function inTurn<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await run(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return results;
}

/**
 * Prints, for each of the settings, how many long replies loop, how many end by themselves, and how many sentences are
 * quoted to the letter. llama.cpp's own server answers: the engine sends it the same fields.
 * @param step asks every question of that many
 */
export async function measureLoops(file: string, all: readonly LoopSettings[], step: number): Promise<void> {
  const blob = await openAsBlob(file);
  const { traits } = await inspectModel([{ ...startOfBlob(blob), name: file }]);
  const server = await LlamaServer.start(file, 'loops', [], { parallel: PARALLEL });
  try {
    const properties = (await (await server.get('/props')).json()) as Record<string, string>;
    const { bos_token: bos = null, eos_token: eos = null } = properties;
    // A whole answer may take longer than `fetch` waits for headers: it is streamed.
    const post = async (path: string, body: object): Promise<string> => {
      const headers = {
        authorization: `Bearer ${server.key}`,
        'content-type': 'application/json',
        // The server may end a connection that is just being used again.
        connection: 'close',
      };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(server.url + path, init);
      if (!response.ok) throw new Error(await response.text());
      return response.text();
    };
    const addsBos = /\d/.test(await post('/tokenize', { content: '', add_special: true }));
    const chat = chatPrompt(traits.chatTemplate, { bos, eos, chatMl: true, reserved: [] }, addsBos);
    const ask = async (content: string, settings: LoopSettings, maxTokens: number): Promise<Told> => {
      const { temperature = 0.2, ...own } = settings;
      const sampling = { temperature, topP: 1, seed: 1 };
      const job = { input: { messages: [{ role: 'user' as const, content }] }, sampling };
      const { prompt } = chat.open(job as Parameters<ChatPrompt['open']>[0]);
      const body = completionRequest({ prompt, maxTokens }, sampling, own);
      // This server's frequency penalty counts the prompt's tokens, too: a bias takes that back.
      const { tokens } = JSON.parse(
        await post('/tokenize', { content: prompt, parse_special: true }),
      ) as Told;
      const biases = tokens.map((token) => [token, own.frequencyPenalty ?? 0]);
      return joined(await post('/completion', { ...body, logit_bias: biases, return_tokens: true }));
    };
    const asked = openQuestions.filter((_, index) => index % step === 0);
    console.log('| settings | loops | ends within 400 tokens | mean tokens | quoted to the letter |');
    console.log('| --- | --- | --- | --- | --- |');
    const share = (count: number, total: number): string => `${count} / ${total}`;
    for (const settings of all) {
      // Print each figure at once: the next may take long.
      process.stdout.write(`| ${JSON.stringify(settings)} | `);
      const replies = await inTurn(asked, (question) => ask(question, settings, MAX_TOKENS));
      const looped = replies.filter(({ tokens }) => loops(tokens)).length;
      const ended = replies.filter(({ stop_type: type }) => type !== 'limit').length;
      const mean = replies.reduce((sum, { tokens }) => sum + tokens.length, 0) / replies.length;
      process.stdout.write(
        `${share(looped, asked.length)} | ${share(ended, asked.length)} | ${mean.toFixed(0)} | `,
      );
      const quoted = await inTurn(quotations, (text) =>
        ask(`Repeat this text exactly: "${text}"`, settings, 100),
      );
      const exact = quotations.filter((text, index) => quoted[index]?.content.includes(text)).length;
      console.log(`${share(exact, quotations.length)} |`);
    }
  } finally {
    await server.stop();
  }
}
