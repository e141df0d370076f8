import { expect, test } from 'vitest';

import { detokenize } from '../../../../src/engines/llama-cpp/detokenize.ts';
import { writeGguf } from '../../../support/write-gguf.ts';

const gguf = (metadata: NonNullable<Parameters<typeof writeGguf>[0]['metadata']>) =>
  new Blob([writeGguf({ metadata })]);

const byteLevel = gguf({
  'tokenizer.ggml.model': 'gpt2',
  'tokenizer.ggml.tokens': ['<|im_start|>', 'Ġcaf', 'Ã', '©', 'Ċ', 'ðŁĺĢ', '<｜end｜>', 'Ģ', '!'],
});
const pieces = {
  'tokenizer.ggml.model': 'llama',
  'tokenizer.ggml.tokens': ['▁Hi', '<0xE2>', '<0x82>', '<0xAC>', '▁▁', '</s>'],
};

test('a byte-level vocabulary', async () => {
  expect(await detokenize(byteLevel, [0, 1, 2, 3, 4, 5, 6, 8])).toBe('<|im_start|> café\n😀<｜end｜>!');
});

test('a vocabulary of pieces, with the space that llama.cpp puts in again', async () => {
  expect(await detokenize(gguf(pieces), [0, 1, 2, 3, 4, 0, 5])).toBe('Hi€   Hi</s>');
  const without = gguf({ ...pieces, 'tokenizer.ggml.add_space_prefix': false });
  expect(await detokenize(without, [0, 0])).toBe(' Hi Hi');
});

test('the vocabulary of Gemma 4: pieces, and no space is put in', async () => {
  const gemma = gguf({ ...pieces, 'tokenizer.ggml.model': 'gemma4' });
  expect(await detokenize(gemma, [0, 1, 2, 3, 4, 0])).toBe(' Hi€   Hi');
});

test.each([
  ['an id that the model lacks', byteLevel, [0, 9], /token id 9/],
  ['part of a character', byteLevel, [1, 2], /parts of a character/],
  ['another kind of vocabulary', gguf({ ...pieces, 'tokenizer.ggml.model': 'bert' }), [0], /must be text/],
  ['no vocabulary', gguf({ 'tokenizer.ggml.model': 'gpt2' }), [0], /token id 0/],
])('%s is refused', async (_, file, ids, message) => {
  await expect(detokenize(file, ids)).rejects.toMatchObject({
    wire: { status: 400, param: 'prompt', message: expect.stringMatching(message) as string },
  });
});
