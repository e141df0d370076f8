import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const text = readFileSync('docs/architecture.md', 'utf8');
const stops = [...text.matchAll(/^\d+\. `([^`]+)`(?: \(by (message|its interface)\))?: /gm)].map(
  ([, path = '', by]) => ({ path, by }),
);
const before = [...text.matchAll(/^- `([^`]+)`: /gm)].map(([, path = '']) => path);

/** What a file imports to run, now or later; types are not on the way. */
function importsOf(path: string): string[] {
  const source = readFileSync(path, 'utf8').replaceAll(/^(import|export) type [^;]*;/gm, '');
  const targets = source.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g);
  return [...targets].map(([, target = '']) => join(dirname(path), target).replaceAll('\\', '/'));
}

test('the way of a streamed chat is as docs/architecture.md lists it', () => {
  expect(stops.length).toBeGreaterThan(20);
  expect(stops.length).toBeLessThan(30);
  expect(before).not.toEqual([]);
  const paths = [...stops.map(({ path }) => path), ...before];
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  expect(new Set(stops.map(({ path }) => path)).size).toBe(stops.length);
  const reached = new Set<string>([stops[0]?.path ?? '']);
  for (const { path, by } of stops) {
    if (!by) expect(reached, `no file before ${path} imports it`).toContain(path);
    for (const target of importsOf(path)) reached.add(target);
  }
});

test('a file is reached by message, or by its interface, only where that begins', () => {
  expect(stops.filter(({ by }) => by)).toEqual([
    { path: 'src/worker/requests/serve-port.ts', by: 'message' },
    { path: 'src/worker/models/model-manager.ts', by: 'its interface' },
    { path: 'src/worker/runtimes/llama-cpp/wllama-engine.ts', by: 'its interface' },
  ]);
  const source = (path: string): string => readFileSync(path, 'utf8');
  expect(source('src/worker/requests/serve-port.ts')).toContain('MessageEvent<AskerMessage>');
  expect(source('src/worker/runtimes/llama-cpp/wllama-engine.ts')).toContain('implements ChatEngine');
});
