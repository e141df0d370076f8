import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { addGguf } from '../support/add-gguf.ts';
import { firstLayers } from '../support/first-layers.ts';
import { halves } from '../support/requantize.ts';
import { rewriteTensors } from '../support/rewrite-tensors.ts';
import { send } from '../support/send.ts';
import { sharedPage } from '../support/shared-page.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { F32, writeGguf } from '../support/write-gguf.ts';
import { GGUF } from '../support/smollm2.ts';

/** A random LoRA adapter beside the same change in the model's own weights. */

const LAYERS = 2;
const ADAPTED = /^blk\.\d\.(?:attn_q|ffn_down)\.weight$/;
const RANK = 4;
const ALPHA = 8;
/** Bytes of a block of 32 values: a float16 scale, then signed bytes. */
const Q8_0_BLOCK = 34;

const tab = sharedPage();

function floatsOf(blocks: Uint8Array): Float32Array<ArrayBuffer> {
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.byteLength);
  return Float32Array.from({ length: (blocks.length / Q8_0_BLOCK) * 32 }, (_, at) => {
    const block = Math.floor(at / 32) * Q8_0_BLOCK;
    return (halves[view.getUint16(block, true)] ?? 0) * view.getInt8(block + 2 + (at % 32));
  });
}

/** Random numbers of some size, the same at each call. */
function random(name: string, length: number, size: number): Float32Array<ArrayBuffer> {
  let seed = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
  return Float32Array.from({ length }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return (seed / 2 ** 32 - 0.5) * size;
  });
}

/** @returns the model with some weights as floats, the adapter, and the model with the adapter merged */
async function makeFiles() {
  const whole = new Uint8Array(await firstLayers(GGUF, LAYERS));
  const adapter: NonNullable<Parameters<typeof writeGguf>[0]['tensors']> = [];
  const add = (name: string, shape: number[], values: Float32Array): void => {
    const data = Buffer.from(values.buffer);
    adapter.push({ name, shape, type: F32, bytes: data.length, data });
  };
  const plain = rewriteTensors(whole, 0, ({ name }, bytes) =>
    ADAPTED.test(name) ? { type: F32, bytes: new Uint8Array(floatsOf(bytes).buffer) } : null,
  );
  const merged = rewriteTensors(whole, 0, ({ name, shape: [inputs = 0, outputs = 0] }, bytes) => {
    if (!ADAPTED.test(name)) return null;
    const weights = floatsOf(bytes);
    const a = random(`${name}a`, RANK * inputs, 0.2);
    const b = random(`${name}b`, outputs * RANK, 0.2);
    add(`${name}.lora_a`, [inputs, RANK], a);
    add(`${name}.lora_b`, [RANK, outputs], b);
    for (let row = 0; row < outputs; row++)
      for (let column = 0; column < inputs; column++)
        for (let k = 0; k < RANK; k++) {
          const change = (b[row * RANK + k] ?? 0) * (a[k * inputs + column] ?? 0);
          weights[row * inputs + column] = (weights[row * inputs + column] ?? 0) + (ALPHA / RANK) * change;
        }
    return { type: F32, bytes: new Uint8Array(weights.buffer) };
  });
  const metadata = {
    'general.architecture': 'llama',
    'general.type': 'adapter',
    'adapter.type': 'lora',
    'adapter.lora.alpha': { f32: ALPHA },
  };
  return { plain, merged, adapter: writeGguf({ metadata, tensors: adapter }) };
}

interface Reply {
  choices: { logprobs: { content: { token: string; logprob: number }[] } }[];
}

/** Adds files as the user does, and asks the model. @returns the tokens of its reply with their log probabilities */
async function ask(...files: string[]): Promise<{ token: string; logprob: number }[]> {
  const { id } = await addGguf(tab.page, files);
  const messages = [{ role: 'user', content: 'Name a colour.' }];
  const body = { model: id, messages, max_tokens: 12, temperature: 0, logprobs: true };
  const reply = await send<Reply>(tab.page, tab.key, '/v1/chat/completions', body);
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body.choices[0]?.logprobs.content ?? [];
}

test('a model with a LoRA adapter replies as the model with the adapter in its weights', async () => {
  const folder = await tempFolder('lora-gguf');
  const made = await makeFiles();
  const at = (name: keyof typeof made): string => join(folder, `${name}.gguf`);
  for (const [name, bytes] of Object.entries(made)) await writeFile(at(name as keyof typeof made), bytes);
  const adapted = await ask(at('adapter'), at('plain'));
  const merged = await ask(at('merged'));
  const plain = await ask(at('plain'));
  expect(adapted.map(({ token }) => token)).toEqual(merged.map(({ token }) => token));
  const distance = (others: typeof adapted): number =>
    Math.max(...adapted.map(({ logprob }, index) => Math.abs(logprob - (others[index]?.logprob ?? NaN))));
  expect(distance(merged)).toBeLessThan(0.05);
  expect(plain.map(({ token }) => token)).not.toEqual(merged.map(({ token }) => token));

  const other = writeGguf({
    metadata: {
      'general.architecture': 'llama',
      'general.type': 'adapter',
      'adapter.type': 'lora',
      'adapter.lora.alpha': { f32: 1 },
    },
    tensors: [
      { name: 'blk.0.attn_q.weight.lora_a', shape: [64, 4], type: F32, bytes: 1024 },
      { name: 'blk.0.attn_q.weight.lora_b', shape: [4, 64], type: F32, bytes: 1024 },
    ],
  });
  await writeFile(join(folder, 'other.gguf'), other);
  await expect(ask(at('plain'), join(folder, 'other.gguf'))).rejects.toThrow(/adapter/);
});
