import type { Random } from '../chaos/random.ts';
import { tinyTokenizer } from '../support/tiny-onnx/tiny-model.ts';

type Json = Record<string, unknown>;

/** Expressions that may take forever on a text of one letter, match nothing, or do not compile. */
const PATTERNS = [
  '(a+)+$',
  '(a|aa)+$',
  '(a*)*b',
  '([a-z]+)*[A-Z]',
  '(?=(a+)+$)',
  '',
  '$',
  '(?:)',
  '.',
  '(',
  '[^',
  String.raw`\p{Nonsense}`,
  'x{1000}{1000}',
];
const WORDS = ['a', 'lamp', ' ', '', 'p', 'Ġ'];
const CONTENTS = [
  '',
  'b',
  ' ',
  'aa',
  'a'.repeat(18),
  `${'a'.repeat(40)}b`,
  'a'.repeat(1000),
  '$&$&',
  '\u0000',
];
const VALUES = [null, true, -1, 1.5, 2 ** 53, '', 'a', [], {}, [null], { type: 'Nonsense' }];

const pattern = (random: Random): Json =>
  random.pick([{ Regex: random.pick(PATTERNS) }, { String: random.pick(WORDS) }, {}]);

const normalizer = (random: Random): Json =>
  random.pick<() => Json>([
    () => ({ type: 'Replace', pattern: pattern(random), content: random.pick(CONTENTS) }),
    () => ({ type: 'Prepend', prepend: random.pick(CONTENTS) }),
    () => ({ type: random.pick(['NFKD', 'Lowercase', 'StripAccents', 'BertNormalizer', 'Nonsense']) }),
    () => ({ type: 'Strip', strip_left: true, strip_right: true }),
  ])();

const preTokenizer = (random: Random): Json =>
  random.pick<() => Json>([
    () => ({
      type: 'Split',
      pattern: pattern(random),
      behavior: random.pick(['Isolated', 'Removed', 'Nonsense']),
      invert: random.below(2) === 1,
    }),
    () => ({ type: 'Replace', pattern: pattern(random), content: random.pick(CONTENTS) }),
    () => ({ type: random.pick(['Whitespace', 'Digits', 'Punctuation', 'ByteLevel', 'BertPreTokenizer']) }),
    () => ({ type: 'FixedLength', length: random.pick([0, -1, 1, 1e9]) }),
    () => ({ type: 'Metaspace', replacement: random.pick(CONTENTS), prepend_scheme: 'always' }),
  ])();

const several = (random: Random, make: (random: Random) => Json): Json[] =>
  Array.from({ length: 1 + random.below(random.pick([2, 8, 64])) }, () => make(random));

const vocabulary = Object.keys(tinyTokenizer.model.vocab);

const model = (random: Random): unknown =>
  random.pick<() => unknown>([
    // Every pair of letters joins to one that joins again, or to one that there is not.
    () => ({
      ...tinyTokenizer.model,
      merges: Array.from({ length: random.pick([1, 1000, 100_000]) }, () =>
        Array.from({ length: 2 }, () => random.pick(vocabulary).repeat(1 + random.below(3))),
      ),
    }),
    () => ({ type: 'Unigram', unk_id: random.pick([0, -1, 1e9, null]), vocab: pieces(random) }),
    () => ({
      type: 'WordPiece',
      vocab: random.pick([tinyTokenizer.model.vocab, {}]),
      unk_token: random.pick(['a', 'none']),
      max_input_chars_per_word: random.pick([0, 1e9]),
    }),
    () => ({ ...tinyTokenizer.model, byte_fallback: true, end_of_word_suffix: random.pick(CONTENTS) }),
    () => random.pick(VALUES),
  ])();

const pieces = (random: Random): [string, unknown][] =>
  Array.from({ length: random.pick([1, 1000, 200_000]) }, (_, index) => [
    random.pick(['a', 'a'.repeat(1 + (index % 300)), String.fromCodePoint(97 + (index % 26)) + index]),
    random.pick([-1, 0, 1e308, null, -Number.MAX_VALUE]),
  ]);

const addedToken = (random: Random): Json => ({
  id: random.pick([0, 97, -1, 1.5, 2 ** 31, '3', null]),
  content: random.pick(['a', 'lamp', '', '(a+)+$', '.*', '\\', ' ', 'a'.repeat(10_000)]),
  lstrip: random.below(2) === 1,
  rstrip: random.below(2) === 1,
  normalized: random.below(2) === 1,
  special: random.below(2) === 1,
});

const template = (random: Random): Json => ({
  type: 'TemplateProcessing',
  single: Array.from({ length: random.pick([0, 3, 100_000]) }, () =>
    random.pick([{ SpecialToken: { id: 'a', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, {}]),
  ),
  pair: [],
  special_tokens: {},
});

/** A sound tokenizer.json of which one to three parts are written to do harm. */
export function hostileTokenizer(random: Random): unknown {
  const hostile: Json = { ...tinyTokenizer };
  const changes: (() => unknown)[] = [
    () => (hostile['normalizer'] = { type: 'Sequence', normalizers: several(random, normalizer) }),
    () => (hostile['normalizer'] = { type: 'Sequence', normalizers: several(random, normalizer) }),
    () => (hostile['pre_tokenizer'] = { type: 'Sequence', pretokenizers: several(random, preTokenizer) }),
    () => (hostile['pre_tokenizer'] = preTokenizer(random)),
    () => (hostile['model'] = model(random)),
    () => (hostile['added_tokens'] = several(random, addedToken)),
    () => (hostile['post_processor'] = template(random)),
    () => (hostile[random.pick(Object.keys(hostile))] = random.pick(VALUES)),
  ];
  for (let left = 1 + random.below(3); left > 0; left--) random.pick(changes)();
  return hostile;
}
