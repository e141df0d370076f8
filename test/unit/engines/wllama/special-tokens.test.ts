import { expect, test } from 'vitest';

import { specialTokens } from '../../../../src/engines/wllama/special-tokens.ts';

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const string = (text: string): Uint8Array[] => {
  const bytes = new TextEncoder().encode(text);
  return [u64(bytes.length), bytes];
};
const TEXT = 8;
const LIST = 9;
const strings = (values: string[]): Uint8Array[] => [
  u32(TEXT),
  u64(values.length),
  ...values.flatMap(string),
];

/** A GGUF head with metadata of several types before the vocabulary. `types`: of its tokens; 1 is text. */
function head(tokens: string[], types: number[] = tokens.map(() => 1)): Blob {
  const metadata = [
    [...string('general.architecture'), u32(TEXT), ...string('llama')],
    [...string('general.file_type'), u32(4), u32(7)],
    [...string('general.tags'), u32(LIST), ...strings(['a', 'bc'])],
    [...string('tokenizer.ggml.tokens'), u32(LIST), ...strings(tokens)],
    [...string('tokenizer.ggml.token_type'), u32(LIST), u32(5), u64(types.length), ...types.map(u32)],
  ];
  const parts = [new TextEncoder().encode('GGUF'), u32(3), u64(0), u64(metadata.length), ...metadata.flat()];
  return new Blob(parts as BlobPart[]);
}

test('the texts of the special tokens are read from behind other metadata', async () => {
  const gguf = head(['<unk>', '<s>', '</s>', 'a']);
  expect(await specialTokens(gguf, 1, 2)).toMatchObject({ bos: '<s>', eos: '</s>', chatMl: false });
});

test('special tokens are reserved, and others that llama.cpp takes for control tokens', async () => {
  const plain = ['<td>', '<s>', '<think>', '<|>', '[1]', '_EOT', '<a|b>'];
  const control = '[INST] <|im_end|> <turn|> <|turn> </s> <eos> _<EOT> [EOT] [e~[ <PRE>'.split(' ');
  const types = [2, 3, ...[...control, ...plain].slice(1).map((_, index) => 1 + 3 * (index % 2))];
  const { reserved, userDefined } = await specialTokens(head(['<unk>', ...control, ...plain], types), 0, 4);
  expect(userDefined).toEqual([...control, ...plain].slice(1).filter((_, index) => index % 2 === 1));
  expect(reserved).toEqual(['▁<PRE>', '▁<SUF>', '▁<MID>', '<unk>', ...control]);
});
