import { expect, test } from 'vitest';
import * as z from '../../../src/service/body/schema.ts';

const faultOf = (schema: z.Schema, value: unknown): { rule: string; at: string } => {
  const fault = schema.parse(value);
  if (!(fault instanceof z.Fault)) return expect.fail('the value was accepted');
  return { rule: fault.rule, at: fault.path.join('.') };
};

const list = z.array(z.object({ id: z.string() })).check(z.maxLength(2));

test('a value is read without what the schema does not name', () => {
  const schema = z.object({ a: z.int(), b: z.nullish(z.string()), c: z.nullish(z.string()) });
  expect(schema.parse({ a: 1, b: null, d: 2 })).toEqual({ a: 1, b: null });
  const named = JSON.parse('{"a":1,"__proto__":{"b":"inherited"}}') as unknown;
  expect(schema.parse(named)).toEqual({ a: 1 });
});

test.each([
  [z.object({ a: list }), { a: [{ id: 'x' }, { id: 1 }] }, { rule: 'must be a string', at: 'a.1.id' }],
  [z.object({ a: list }), {}, { rule: 'must be an array', at: 'a' }],
  [list, [1, 2, 3], { rule: 'must have at most 2 elements', at: '' }],
  [z.int(), 1.5, { rule: 'must be an integer', at: '' }],
  [z.int(), 2 ** 60, { rule: 'must be at most 9007199254740991', at: '' }],
  [z.string().check(z.maxLength(2)), '🙂🙂🙂', { rule: 'must have at most 2 characters', at: '' }],
  [z.strictObject({ a: z.string() }), { a: 'x', b: 1 }, { rule: 'has unknown members', at: '' }],
  [z.record(z.string(), z.number(), 1), { a: 1, b: 2 }, { rule: 'must have at most 1 members', at: '' }],
  [z.record(z.string(), z.number(), 2), { a: 1, b: 'x' }, { rule: 'must be a number', at: 'b' }],
] as const)('%# the first fault, and where it is', (schema, value, fault) => {
  expect(faultOf(schema, value)).toEqual(fault);
});

test('of several alternatives, the fault is of the one that was meant', () => {
  const union = z.union([z.string().check(z.minLength(1)), list], 'must be this or that');
  expect(union.parse('🙂')).toBe('🙂');
  expect(faultOf(union, '').rule).toBe('must have at least 1 character');
  expect(faultOf(union, [{ id: 1 }])).toEqual({ rule: 'must be a string', at: '0.id' });
  expect(faultOf(union, 7)).toEqual({ rule: 'must be this or that', at: '' });
});

test('a member names the alternative', () => {
  const named = z.discriminatedUnion(
    'type',
    [z.object({ type: z.optional(z.literal('a')), x: z.int() }), z.object({ type: z.literal('b') })],
    'must be "a" or "b"',
  );
  expect(named.parse({ x: 1 })).toEqual({ x: 1 });
  expect(named.parse({ type: 'b', x: 'any' })).toEqual({ type: 'b' });
  expect(faultOf(named, { type: 'a' })).toEqual({ rule: 'must be a number', at: 'x' });
  expect(faultOf(named, { type: 'c' })).toEqual({ rule: 'must be "a" or "b"', at: 'type' });
});
