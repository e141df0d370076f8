import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  namesIn,
  readBodies,
  SECTION,
  sectionOf,
  sectionsOf,
} from '../../../../src/node/engine-files/linker/wasm-module.ts';
import { linkObject } from '../../../../src/node/engine-files/linker/link-object.ts';
import { checkStructs, REPLACED } from '../../../../src/node/engine-files/linker/llama-abi.ts';
import { kernelsVersion, linkLlama, packageWasm } from '../../../../src/node/engine-files/llama-wasm.ts';
import { hostModule, LLAMA_FUNCTIONS, namesOf, OBJECT, PARTS } from './host-module.ts';

const link = (functions: typeof LLAMA_FUNCTIONS, names = namesOf(functions)): Uint8Array =>
  linkObject(hostModule(functions), names, OBJECT, REPLACED, PARTS);

test.each(['default', 'compat'] as const)("the kernels fit the installed package's build %s", (build) => {
  const before = sectionsOf(readFileSync(packageWasm(build)));
  const linked = linkLlama(build);
  const bodiesOf = (sections: typeof before): number => readBodies(sectionOf(sections, SECTION.code)).length;
  const after = sectionsOf(linked);
  expect(bodiesOf(after)).toBeGreaterThan(bodiesOf(before));
  const ids = before.map(({ id }) => id).filter((id) => id !== SECTION.custom);
  expect(after.map(({ id }) => id)).toEqual(ids);
  if (build === 'compat') expect(WebAssembly.validate(Uint8Array.from(linked))).toBe(true);
  expect(kernelsVersion()).toMatch(/^[0-9a-f]{8}$/);
});

test('a function that is missing, twice there or of another signature is named', () => {
  const others = LLAMA_FUNCTIONS.filter(({ name }) => name !== 'quantize_row_q8_K');
  expect(() => link(others)).toThrow('The module has 0 functions called quantize_row_q8_K, not 1.');
  const barrier = LLAMA_FUNCTIONS.find(({ name }) => name === 'ggml_barrier');
  if (!barrier) throw new Error('The kernels call no barrier.');
  expect(() => link([...LLAMA_FUNCTIONS, barrier])).toThrow('2 functions called ggml_barrier');
  expect(() => link([...LLAMA_FUNCTIONS, { ...barrier, parameters: [0x7c] }])).not.toThrow();
  const changed = (name: string): typeof LLAMA_FUNCTIONS =>
    LLAMA_FUNCTIONS.map((each) => (each.name === name ? { ...each, parameters: [0x7c] } : each));
  for (const { name } of LLAMA_FUNCTIONS)
    expect(() => link(changed(name))).toThrow(`The function ${name} has another signature.`);
});

test('an object without the function that is to replace another is refused', () => {
  const entries = { ggml_barrier: 'barrier' };
  expect(() => linkObject(hostModule(LLAMA_FUNCTIONS), namesOf(LLAMA_FUNCTIONS), OBJECT, entries)).toThrow(
    'The object has no function barrier.',
  );
});

test('a module or object that is cut off is refused', () => {
  const module = hostModule(LLAMA_FUNCTIONS);
  const names = namesOf(LLAMA_FUNCTIONS);
  for (const length of [20, 60, module.length - 1])
    expect(() => linkObject(module.subarray(0, length), names, OBJECT, REPLACED)).toThrow('The module');
  for (const length of [20, 5000, OBJECT.length - 1])
    expect(() => linkObject(module, names, OBJECT.subarray(0, length), REPLACED)).toThrow();
});

test('a field of a struct that has moved is named', () => {
  const check = (): void => checkStructs(64, () => new Uint8Array([0x28, 2, 0]));
  expect(check).toThrow(
    /ggml_compute_forward_mul_mat does not read tensor\.ne\[0\] at offset 16; .*tensor\.ne\[1\] at offset 24/,
  );
});

test('a source that the kernels would ignore is named', () => {
  const check = (): void => checkStructs(64, () => new Uint8Array([0x29, 3, 0xc8, 1]));
  expect(check).toThrow('flash_attn_ext_f16_one_chunk reads tensor.src[6], which the kernels do not know');
});

test('names of functions are read from a module that has them', () => {
  const text = (value: string): number[] => [value.length, ...Buffer.from(value)];
  const functions = [2, 7, ...text('malloc'), 9, ...text('free')];
  const section = [...text('name'), 0, 3, ...text('so'), 1, functions.length, ...functions];
  const module = hostModule(LLAMA_FUNCTIONS);
  expect(() => namesIn(module)).toThrow('The module names no functions.');
  const named = Uint8Array.from([...module, 0, section.length, ...section]);
  expect(namesIn(named)).toEqual(
    new Map([
      [7, 'malloc'],
      [9, 'free'],
    ]),
  );
});
