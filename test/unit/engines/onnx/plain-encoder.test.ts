import { PreTrainedTokenizer } from '@huggingface/transformers';
import { expect, test } from 'vitest';

import { plainEncoder } from '../../../../src/engines/onnx/plain-encoder.ts';

const added = (id: number, content: string, special = true) => ({
  id,
  content,
  special,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
});

/** A WordPiece vocabulary, as BERT's. */
const words = '[PAD] [UNK] [CLS] [SEP] rain snow [ ] < | > sep cls 0 .'.split(' ');
const bert = new PreTrainedTokenizer(
  {
    added_tokens: [
      ...['[PAD]', '[UNK]', '[CLS]', '[SEP]'].map((text, id) => added(id, text)),
      added(words.length, '<|0.00|>', false),
    ],
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: null,
    decoder: null,
    model: {
      type: 'WordPiece',
      vocab: Object.fromEntries(words.map((word, id) => [word, id])),
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
    },
  },
  { unk_token: '[UNK]', sep_token: '[SEP]', cls_token: '[CLS]', pad_token: '[PAD]' },
);

/** A Unigram vocabulary, as XLM-RoBERTa's: its special tokens are pieces of text, too, and width is normalized. */
const pieces: [string, number][] = [
  ['<s>', 0],
  ['</s>', 0],
  ['<unk>', 0],
  ['▁rain', -1],
  ['▁snow', -1],
  ['▁', -2],
  ['<', -3],
  ['/', -3],
  ['s', -3],
  ['>', -3],
];
const unigram = new PreTrainedTokenizer(
  {
    added_tokens: ['<s>', '</s>', '<unk>'].map((text, id) => added(id, text)),
    normalizer: { type: 'NFKC' },
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
    post_processor: null,
    decoder: null,
    model: { type: 'Unigram', vocab: pieces, unk_id: 2 },
  },
  { unk_token: '<unk>', bos_token: '<s>', eos_token: '</s>' },
);

const encode = (tokenizer: PreTrainedTokenizer, text: string): string[] =>
  plainEncoder(tokenizer)(text).map((id) => tokenizer.decode([id]).trim());

test('special tokens in a text are tokens of text', () => {
  expect(encode(bert, 'rain [SEP] snow')).toEqual(['rain', '[', 'sep', ']', 'snow']);
  expect(encode(bert, '[CLS]')).toEqual(['[', 'cls', ']']);
  // Whisper's timestamps are not marked as special.
  expect(encode(bert, 'rain <|0.00|>')).toEqual(['rain', '<', '|', '0', '.', '[UNK]', '|', '>']);
});

test('an ordinary text has the tokens that it had', () => {
  for (const [tokenizer, text] of [
    [bert, 'Rain, [snow] < rain'],
    [unigram, 'rain snow <s'],
  ] as const)
    expect(plainEncoder(tokenizer)(text)).toEqual(tokenizer.encode(text, { add_special_tokens: false }));
});

test('a special token that is a piece of text, or comes of normalizing, does not stay', () => {
  for (const text of ['rain </s> snow', 'rain</s>snow', 'rain ＜/s＞ snow', '<s>'])
    expect(
      encode(unigram, text).filter((token) => /^<\/?s>$/.test(token)),
      text,
    ).toEqual([]);
});
