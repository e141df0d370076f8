import { expect, test } from 'vitest';

import { compileSchema } from '../../../src/grammar/compile-schema.ts';
import { continueGrammar } from '../../../src/grammar/continue-grammar.ts';
import { Random } from '../../chaos/random.ts';
import { randomSchema } from '../../support/grammar/random-schemas.ts';
import { GbnfSampler } from '../../support/grammar/sample-gbnf.ts';
import { validator } from '../../support/grammar/validate.ts';

const compile = (schema: object): string => compileSchema(JSON.stringify(schema)).gbnf;

test('what follows the begin of a text is valid with it', { timeout: 60_000 }, () => {
  const random = new Random(20_261_128);
  let continued = 0;
  for (let index = 0; index < 60; index++) {
    const schema = randomSchema(random);
    const gbnf = compile(schema);
    const faultOf = validator(schema);
    for (let draw = 0; draw < 5; draw++) {
      const characters = [...(new GbnfSampler(gbnf).draw(random, 300) ?? '')];
      if (characters.length === 0) continue;
      const begun = characters.slice(0, random.below(characters.length + 1)).join('');
      const rest = continueGrammar(gbnf, begun);
      const text = new GbnfSampler(rest).draw(random, 300);
      if (text === null) continue;
      continued++;
      expect(faultOf(begun + text), begun).toBeNull();
    }
  }
  expect(continued).toBeGreaterThan(200);
});

const RATING = {
  type: 'object',
  required: ['rating'],
  additionalProperties: false,
  properties: { rating: { type: 'integer', minimum: 0, maximum: 5 } },
};

test('allows exactly the rest', () => {
  const rest = continueGrammar(compile(RATING), '{ "rating": ');
  const random = new Random(1);
  const texts = Array.from({ length: 100 }, () => new GbnfSampler(rest).draw(random)?.replaceAll(/\s/g, ''));
  expect([...new Set(texts)].toSorted()).toEqual(['0}', '1}', '2}', '3}', '4}', '5}']);
});

test.each(['invalid', '{"rating": 9', '{"rating": 1} and', '{"other": '])(
  'no text begins with %s',
  (begun) => {
    expect(() => continueGrammar(compile(RATING), begun)).toThrow('continue_final_message');
  },
);

test('reads line separators within texts as characters', () => {
  const value = 'a\u2028root ::= "b"';
  const rest = continueGrammar(compile({ const: value }), '"a\u2028');
  expect(new GbnfSampler(rest).draw(new Random(1))).toBe(JSON.stringify('root ::= "b"').slice(1));
});

test.each([
  [{ type: 'string' }, `"${'a'.repeat(400_000)}`],
  // What must follow grows with each bracket.
  [{ type: 'array', items: { $ref: '#' } }, '['.repeat(8000)],
])('gives up on a begin that is too long under %j', (schema, begun) => {
  expect(() => continueGrammar(compile(schema), begun)).toThrow('too long');
});
