import { expect, test } from 'vitest';

import {
  LlamaServer,
  Refusal,
  type ServerCalls,
} from '../../../../src/engine/engines/wllama/llama-server.ts';

const never = new AbortController().signal;

/** Like the real one: a step advances every slot, and hands out one result of one of them. */
class FakeServer implements ServerCalls {
  readonly log: string[] = [];
  readonly #slots = new Map<number, { left: number; tokens: number; results: string[] }>();
  #ids = 0;

  /** A prompt of `x`, as many as it takes steps; then `tokens`. */
  async begin(fields: Record<string, unknown>): Promise<number> {
    const prompt = String(fields['prompt']);
    this.log.push(`begin ${prompt.length}`);
    if (prompt === 'bad') throw new Refusal('not understood');
    this.#slots.set(++this.#ids, {
      left: Math.ceil(prompt.length / 100),
      tokens: Number(fields['n_predict']),
      results: [],
    });
    return this.#ids;
  }

  async step(id: number) {
    for (const slot of this.#slots.values()) {
      if (slot.left > 0) slot.left--;
      else if (slot.tokens-- > 0) slot.results.push('t');
    }
    const slot = this.#slots.get(id);
    const text = slot?.results.shift();
    const more = !!slot && (slot.left > 0 || slot.tokens > 0 || slot.results.length > 0);
    if (this.dead) throw new Error('memory access out of bounds');
    return { chunks: text ? [{ choices: [{ text }] }] : [], more };
  }

  async cancel(id: number): Promise<void> {
    this.log.push(`cancel ${id}`);
    this.#slots.delete(id);
  }

  dead = false;
}

const ask = (length: number, tokens: number) => ({ prompt: 'x'.repeat(length), n_predict: tokens });

test('gives what is generated together out evenly', async () => {
  const server = new LlamaServer(new FakeServer());
  const order: string[] = [];
  await Promise.all(['a', 'b', 'c'].map((name) => server.run(ask(100, 20), () => order.push(name), never)));
  for (const name of ['a', 'b', 'c']) {
    expect(order.slice(0, 30).filter((each) => each === name).length).toBeGreaterThanOrEqual(8);
  }
  expect(order).toHaveLength(60);
});

test('puts a long prompt aside for a short one, and comes back to it', async () => {
  const fake = new FakeServer();
  const server = new LlamaServer(fake);
  const order: string[] = [];
  const long = server.run(ask(5000, 1), () => order.push('long'), never);
  await Promise.resolve();
  const short = server.run(ask(100, 1), () => order.push('short'), never);
  await Promise.all([long, short]);
  expect(order).toEqual(['short', 'long']);
  expect(fake.log).toEqual(['begin 5000', 'cancel 1', 'begin 100', 'begin 5000']);
});

test('an abort frees the slot before it rejects, and leaves the others alone', async () => {
  const fake = new FakeServer();
  const server = new LlamaServer(fake);
  const abort = new AbortController();
  const leaving = server.run(ask(100, 1000), () => abort.abort(new Error('gone')), abort.signal);
  let tokens = 0;
  const staying = server.run(ask(100, 20), () => tokens++, never);
  await expect(leaving).rejects.toThrow('gone');
  expect(fake.log).toContain('cancel 1');
  await staying;
  expect(tokens).toBe(20);
});

test('a refused request fails alone; a dead server fails all', async () => {
  const fake = new FakeServer();
  const server = new LlamaServer(fake);
  const good = server.run(ask(100, 2), () => undefined, never);
  await expect(server.run({ prompt: 'bad' }, () => undefined, never)).rejects.toBeInstanceOf(Refusal);
  await good;
  const first = server.run(ask(100, 9), () => (fake.dead = true), never);
  const second = server.run(ask(100, 9), () => (fake.dead = true), never);
  await expect(first).rejects.toThrow('out of bounds');
  await expect(second).rejects.toThrow('out of bounds');
});

test('what runs when the server is stopped fails, though its call never settles', async () => {
  const fake = new FakeServer();
  fake.step = () => new Promise(() => undefined);
  const server = new LlamaServer(fake);
  const running = server.run(ask(100, 1), () => undefined, never);
  await new Promise((resolve) => setTimeout(resolve));
  server.stop(new Error('unloaded'));
  await expect(running).rejects.toThrow('unloaded');
});
