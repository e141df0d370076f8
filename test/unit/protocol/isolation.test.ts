import { expect, test } from 'vitest';

import { addIsolation, isolates } from '../../../src/protocol/isolation.ts';

const script = (...paths: string[]): string => {
  const url = new URL('https://site.example/base/localtext-sw.js');
  addIsolation(url, paths);
  return url.href;
};

test.each([
  [['/app/'], '/app/', true],
  [['/app/'], '/app/deep?query#hash', true],
  [['/app/'], '/app', false],
  [['/app/'], '/application/', false],
  [['/app'], '/app?query', true],
  [['/app'], '/app/deep', false],
  [['./'], '/base/page', true],
  [['./'], '/page', false],
  [['chat'], '/base/chat', true],
  [['/a&b=c/', '/x y/'], '/x%20y/page', true],
  [['/a&b=c/'], '/a&b=c/page', true],
  [[], '/', false],
] as const)('%o names %s: %s', (paths, path, isNamed) => {
  expect(isolates(script(...paths), `https://site.example${path}`)).toBe(isNamed);
});

test.each([['reload'], [['https://other.example/']], [['//other.example/']], [[7]], [['http://']], [null]])(
  'refuses %o',
  (paths) => {
    const url = new URL('https://site.example/localtext-sw.js');
    expect(() => addIsolation(url, paths as string[])).toThrow(/isolation must be a list of paths of https/);
  },
);
