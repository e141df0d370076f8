import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const text = readFileSync('docs/architecture.md', 'utf8');
const stops = [...text.matchAll(/^\d+\. `([^`]+)`( \(by message\))?: /gm)].map(([, path = '', message]) => ({
  path,
  byMessage: message !== undefined,
}));

/** What a file imports to run, now or later; types are not on the way. */
function importsOf(path: string): string[] {
  const source = readFileSync(path, 'utf8').replaceAll(/^(import|export) type [^;]*;/gm, '');
  const targets = source.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g);
  return [...targets].map(([, target = '']) => join(dirname(path), target).replaceAll('\\', '/'));
}

test('the way of a streamed chat is as docs/architecture.md lists it', () => {
  expect(stops.length).toBeGreaterThan(20);
  expect(stops.map(({ path }) => path).filter((path) => !existsSync(path))).toEqual([]);
  expect(new Set(stops.map(({ path }) => path)).size).toBe(stops.length);
  const reached = new Set<string>([stops[0]?.path ?? '']);
  for (const { path, byMessage } of stops) {
    if (!byMessage) expect(reached, `no file before ${path} imports it`).toContain(path);
    for (const target of importsOf(path)) reached.add(target);
  }
});

test('a file is reached by message only where a channel begins', () => {
  const channels = stops.filter(({ byMessage }) => byMessage).map(({ path }) => path);
  expect(channels).toEqual(['src/tabs/election-member.ts', 'src/engine/worker.ts']);
  for (const path of channels)
    expect(readFileSync(path, 'utf8'), path).toMatch(/MessageEvent<ServePort|MessagePort/);
});
