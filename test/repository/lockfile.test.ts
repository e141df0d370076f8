import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

interface Entry {
  integrity?: string;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

const lock = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, Entry> };
const entries = Object.entries(lock.packages).filter(([path]) => path !== '');

test('every package of the lockfile has a hash and no host', () => {
  expect(entries.length).toBeGreaterThan(100);
  expect(entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test('the lockfile has the optional packages of every platform', () => {
  const names = entries.flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies));
  const bindings = names.filter((name) => name.includes('/binding-'));
  expect(bindings.length).toBeGreaterThan(30);
  const missing = bindings.filter((name) => !lock.packages[`node_modules/${name}`]);
  expect(missing, 'Run: node scripts/complete-lock.mjs').toEqual([]);
});
