import { expect, test } from 'vitest';

import { functionNames, halfTable, replaceKernels } from '../../../scripts/llama/replace-kernels.ts';

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** A module of functions without parameters, that return numbers: exported as f0, f1, … behind one import. */
function moduleOf(...bodies: number[][]): Uint8Array<ArrayBuffer> {
  const codes = bodies.flatMap((body) => [body.length + 2, 0, ...body, 0x0b]);
  const exported = bodies.flatMap((_, i) => [2, 0x66, 0x30 + i, 0, i + 1]);
  const sections = [
    [1, [2, 0x60, 0, 1, 0x7d, 0x60, 0, 0]],
    [2, [1, 1, 0x6d, 1, 0x69, 0, 1]],
    [3, [bodies.length, ...bodies.map(() => 0)]],
    [5, [1, 0, 8]],
    [7, [bodies.length, ...exported]],
    [10, [bodies.length, ...codes]],
    [11, [0]],
  ] as const;
  return Uint8Array.from([...HEADER, ...sections.flatMap(([id, bytes]) => [id, bytes.length, ...bytes])]);
}

/** f32.const of a whole number. */
const constant = (value: number): number[] => [0x43, ...new Uint8Array(Float32Array.of(value).buffer)];
/** f32.load of what `i32.const 0` says, 300,000 behind it. */
const load = [0x41, 0, 0x2a, 2, 0xe0, 0xa7, 0x12];

/** As wllama's table: the first index, how many functions, their names, and which each has. */
function table(...names: string[]): Uint8Array {
  const entries = names.flatMap((name) => [name.length, ...new TextEncoder().encode(name)]);
  const numbers = new Uint8Array(Uint32Array.of(1, names.length, names.length).buffer);
  return Uint8Array.from([...numbers, ...entries, ...names.flatMap((_, i) => [i, 0])]);
}

async function results(bytes: Uint8Array): Promise<unknown[]> {
  const { instance } = await WebAssembly.instantiate(Uint8Array.from(bytes), { m: { i: () => undefined } });
  return Object.values(instance.exports).map((each) => (each as () => unknown)());
}

test('functions are found by name and get the code of others, longer or shorter', async () => {
  const module = moduleOf(constant(1), load, constant(3));
  const names = functionNames(table('one', 'loads', 'three'));
  expect(await results(module)).toEqual([1, 0, 3]);
  const replaced = replaceKernels(module, names, ['loads', 'one'], moduleOf(constant(20), load));
  expect(await results(replaced)).toEqual([0, 20, 3]);
  expect(await results(module)).toEqual([1, 0, 3]);
});

test('a section that grows past 127 bytes gets a longer length', async () => {
  const long = (value: number): number[] => [
    ...Array.from({ length: 20 }, () => [0x41, 7, 0x1a]).flat(),
    ...constant(value),
  ];
  const names = functionNames(table('a', 'b'));
  const half = replaceKernels(moduleOf(constant(1), constant(2)), names, ['a'], moduleOf(long(10)));
  const whole = replaceKernels(half, names, ['b'], moduleOf(long(20)));
  expect(await results(whole)).toEqual([10, 20]);
  expect(await results(replaceKernels(whole, names, ['a'], moduleOf(constant(3))))).toEqual([3, 20]);
});

test('the table of half floats is where a kernel loads floats from', () => {
  const module = moduleOf(constant(1), load);
  const names = functionNames(table('none', 'reads'));
  expect(halfTable(module, names, 'reads')).toBe(300_000);
  expect(() => halfTable(module, names, 'none')).toThrow('none reads no table');
});

test('a name that is missing or not unique is refused, and so is a wrong number of functions', () => {
  const module = moduleOf(constant(1), constant(2));
  const kernels = moduleOf(constant(3));
  const names = functionNames(table('same', 'same'));
  expect(() => replaceKernels(module, names, ['same'], kernels)).toThrow('2 functions are called same');
  expect(() => replaceKernels(module, names, ['other'], kernels)).toThrow('0 functions are called other');
  expect(() => replaceKernels(module, names, [], kernels)).toThrow('1 functions are to take the place of 0');
});
