import { expect, test } from 'vitest';

import { parseSource } from '../../../../playground/model-list/parse-source.ts';

test.each([
  [' owner/a-model.GGUF ', { hub: 'owner/a-model.GGUF' }],
  ['https://huggingface.co/owner/name', { hub: 'owner/name' }],
  ['https://huggingface.co/owner/name/tree/main', { hub: 'owner/name' }],
  [
    'https://huggingface.co/owner/name/resolve/main/q%204/m.gguf?download=true',
    { hub: 'owner/name', revision: 'main', file: 'q 4/m.gguf' },
  ],
  ['https://models.example.com/m.gguf', { url: 'https://models.example.com/m.gguf' }],
])('%s names a model', (text, source) => {
  expect(parseSource(text)).toEqual(source);
});

test.each(['', 'a model', 'a/name/file', 'javascript:alert(1)', 'https://', 'https://huggingface.co/owner'])(
  '%s names none',
  (text) => {
    expect(parseSource(text)).toBeNull();
  },
);
