import { expect, test } from 'vitest';

import { LlamaServer } from '../../../../src/engine/engines/wllama/llama-server.ts';
import type { Chunk } from '../../../../src/engine/engines/wllama/wllama-reply.ts';
import {
  RequestRejectedError,
  type ServerCalls,
} from '../../../../src/engine/engines/wllama/server-calls.ts';

const never = new AbortController().signal;

/** Like the real one where it matters here: one result a step, and a reply begins with an empty one. */
class FakeServer implements ServerCalls {
  readonly asked: Record<string, unknown>[] = [];
  readonly #reply: string[];
  readonly #context: number;
  #results: Chunk[] = [];
  #left: string[] = [];
  /** Tokens. */
  computed = 0;

  /** What it answers to any prompt, a token each; what of it stands at a prompt's end has been generated. */
  constructor(reply: string[], context = 1000) {
    this.#reply = reply;
    this.#context = context;
  }

  async begin(fields: Record<string, unknown>): Promise<number> {
    this.asked.push(fields);
    const prompt = String(fields['prompt']);
    const so = (at: number): string => this.#reply.slice(0, at + 1).join('');
    const given = this.#reply.findIndex((_, at) => so(at) !== '' && prompt.endsWith(`>${so(at)}`));
    this.#left = this.#reply.slice(given + 1).slice(0, Number(fields['n_predict'] ?? 99));
    this.#results = [{}];
    return this.asked.length;
  }

  async step() {
    const length = String(this.asked.at(-1)?.['prompt']).length;
    if (length >= this.#context) throw new RequestRejectedError('too long', length, this.#context);
    const text = this.#left.shift();
    if (text !== undefined) {
      this.computed++;
      const timings = { cache_n: 0, prompt_n: length, prompt_ms: 7, predicted_n: 1, predicted_ms: 1 };
      if (text === 'END') this.#left = [];
      else if (text !== '') this.#results.push({ choices: [{ text, finish_reason: null }], timings });
      const finish_reason = text === 'END' ? 'stop' : 'length';
      if (this.#left.length === 0) this.#results.push({ choices: [{ text: '', finish_reason }], timings });
    }
    const result = this.#results.shift();
    return { chunks: result?.choices ? [result] : [], more: this.#results.length + this.#left.length > 0 };
  }

  async cancel(): Promise<void> {}
}

interface Generated {
  text: string;
  chunks: Chunk[];
  /** Tokens that had been computed when the first text came. */
  firstAfter: number;
}

async function generate(fake: FakeServer, fields: Record<string, unknown>): Promise<Generated> {
  const generated: Generated = { text: '', chunks: [], firstAfter: 0 };
  const onChunk = (chunk: Chunk): void => {
    generated.chunks.push(chunk);
    generated.text += chunk.choices?.[0]?.text ?? '';
    generated.firstAfter ||= fake.computed;
  };
  await new LlamaServer(fake, 4, false).run({ stream: true, seed: 5, ...fields }, onChunk, never);
  return generated;
}

const story = ['Once', ' upon', ' a', ' time', 'END'];

test('the first token is there before the second is computed, and the rest follows', async () => {
  const fake = new FakeServer(story);
  const { text, firstAfter, chunks } = await generate(fake, { prompt: 'go>', n_predict: 20 });
  expect([text, firstAfter]).toEqual(['Once upon a time', 1]);
  expect(fake.asked.map(({ prompt, n_predict: limit, seed }) => [prompt, limit, seed])).toEqual([
    ['go>', 1, 5],
    ['go>Once', 19, 6],
  ]);
  // As the one prompt that the client sent.
  expect(chunks.map(({ timings }) => timings?.prompt_n)).toEqual(chunks.map(() => 3));
  expect(chunks.map(({ timings }) => timings?.predicted_n).slice(0, 2)).toEqual([1, 2]);
  expect(chunks[0]?.choices).toEqual([{ text: 'Once' }]);
});

test.each([
  ['a reply of one token', ['Once'], { n_predict: 1 }, 'Once', 'length'],
  ['a reply that is empty', ['END'], {}, '', 'stop'],
])('%s is asked for once', async (_, reply, fields, text, reason) => {
  const fake = new FakeServer(reply);
  const generated = await generate(fake, { prompt: 'go>', ...fields });
  expect(generated.text).toBe(text);
  expect(generated.chunks.at(-1)?.choices?.[0]?.finish_reason).toBe(reason);
  expect(fake.asked).toHaveLength(1);
});

test.each([
  ['white space', '\n'],
  ['a sign behind a sign', '>'],
  ['half a character', '\ufffd'],
  ['nothing yet', ''],
])('after %s it begins again, by the same seed', async (_, first) => {
  const fake = new FakeServer([first, 'Once', 'END']);
  const { text } = await generate(fake, { prompt: 'go>' });
  expect(text).toBe(`${first}Once`);
  expect(fake.asked.map(({ prompt, seed }) => [prompt, seed])).toEqual([
    ['go>', 5],
    ['go>', 5],
  ]);
});

test.each([
  ['bound to a grammar', { grammar: 'root ::= "x"' }],
  ['bound to a schema', { json_schema: {} }],
  ['with log probabilities', { n_probs: 3 }],
  ['behind a prompt that ends within a word', { prompt: 'go>On' }],
])('a reply %s is asked for whole', async (_, fields) => {
  const fake = new FakeServer(story);
  await generate(fake, { prompt: 'go>', ...fields });
  expect(fake.asked).toHaveLength(1);
});

test('a seed is drawn where none was given', async () => {
  const fake = new FakeServer(story);
  await generate(fake, { prompt: 'go>', seed: undefined });
  const [first, rest] = fake.asked.map(({ seed }) => Number(seed));
  expect(first).toBeGreaterThanOrEqual(0);
  expect(rest).toBe((first ?? 0) + 1);
});

test('when there is room for one token only, the reply ends with it', async () => {
  const fake = new FakeServer(story, 4);
  const { text, chunks } = await generate(fake, { prompt: 'go>' });
  expect(text).toBe('Once');
  expect(chunks.at(-1)?.choices?.[0]?.finish_reason).toBe('length');
});
