import { expect } from 'vitest';
import type { ConformanceCase, Fact } from './conformance-case.ts';
import { badRequest, check, embeddings, modelNotFound, says } from './facts.ts';

const path = '/v1/embeddings';
const of = (name: string, json: Record<string, unknown>, ...facts: Fact[]): ConformanceCase => ({
  name: `embeddings: ${name}`,
  request: { path, json: { model: 'jade-mole-4', ...json } },
  facts,
});
const bad = (name: string, json: Record<string, unknown>, param: string, code?: string | null) =>
  of(name, json, badRequest(param, code));

const vectors = (json: Record<string, unknown>) =>
  (json['data'] as { embedding: unknown }[]).map((one) => one.embedding);

const dot = (a: number[] = [], b: number[] = []) =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

export const embeddingCases: ConformanceCase[] = [
  of(
    'a string',
    { input: 'An owl.' },
    embeddings(1),
    check((json) => expect(Array.isArray(vectors(json)[0])).toBe(true)),
  ),
  of(
    'an array, in order',
    { input: ['An owl.', 'A mole at night.', 'An owl.'] },
    embeddings(3),
    check((json) => {
      const [first, second, third] = vectors(json) as number[][];
      expect(first).toHaveLength(second?.length ?? 0);
      expect(dot(first, third)).toBeCloseTo(1, 3);
      expect(dot(first, second)).toBeLessThan(0.999);
    }),
  ),
  of(
    'base64',
    { input: ['An owl.'], encoding_format: 'base64' },
    embeddings(1),
    check((json) => expect(typeof vectors(json)[0]).toBe('string')),
  ),
  of('float by name', { input: 'An owl.', encoding_format: 'float' }, embeddings(1)),
  of('user, nulls', { input: 'An owl.', user: 'u', encoding_format: null, dimensions: null }, embeddings(1)),
  of('fields that are not known', { input: 'An owl.', truncate: 'END' }, embeddings(1)),
  of('a task, for a model without prefixes', { input: 'An owl.', input_type: 'query' }, embeddings(1)),
  of('a task that is no text', { input: 'a', input_type: 1 }, badRequest('input_type')),
  of('half a surrogate pair', { input: 'broken \ud83d here' }, embeddings(1)),
  of('token ids', { input: [101, 2019, 13547, 102] }, embeddings(1)),
  of(
    'arrays of token ids',
    {
      input: [
        [101, 2019, 102],
        [101, 13547, 102],
      ],
    },
    embeddings(2),
  ),
  // Which lengths a model was trained for is its own business; another is refused by name.
  of('dimensions that no model has', { input: 'An owl.', dimensions: 7 }, (answer) => {
    if (answer.status !== 200) badRequest('dimensions')(answer);
  }),
  bad('no input', {}, 'input', 'missing_required_parameter'),
  bad('input null', { input: null }, 'input'),
  bad('an empty string', { input: '' }, 'input'),
  bad('an empty array', { input: [] }, 'input'),
  bad('an empty string in an array', { input: ['a', ''] }, 'input[1]'),
  bad('an empty array of tokens', { input: [[1], []] }, 'input[1]'),
  bad('a number', { input: 5 }, 'input'),
  bad('an object', { input: { text: 'a' } }, 'input'),
  bad('strings and numbers', { input: ['a', 1] }, 'input[1]'),
  bad('a negative token', { input: [1, -1] }, 'input[1]'),
  of('null in an array', { input: [null] }, badRequest('input[0]'), says('a string')),
  of('a negative token alone', { input: [-1] }, badRequest('input[0]'), says('at least 0')),
  of('a fraction of a token', { input: [1.5] }, badRequest('input[0]'), says('an integer')),
  bad('too many inputs', { input: Array.from({ length: 2049 }, () => 'a') }, 'input'),
  bad('encoding_format not known', { input: 'a', encoding_format: 'int8' }, 'encoding_format'),
  bad('dimensions 0', { input: 'a', dimensions: 0 }, 'dimensions'),
  bad('no model', { model: undefined, input: 'a' }, 'model', 'missing_required_parameter'),
  of('a chat model', { model: 'amber-phoenix-4', input: 'a' }, modelNotFound),
  of('a model not known', { model: 'text-embedding-3', input: 'a' }, modelNotFound),
];
