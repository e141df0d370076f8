import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';

import type { Row } from './row.ts';

/** What a page loads before its first request: the library and all that it imports at once, without the engine. */
export async function pageLibraryBytes(): Promise<Row> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    worker: { format: 'es' },
    build: {
      write: false,
      target: 'es2023',
      rolldownOptions: { input: 'src/index.ts', preserveEntrySignatures: 'strict' },
    },
  });
  const { output } = Array.isArray(built) ? (built[0] ?? { output: [] }) : (built as Rolldown.RolldownOutput);
  const chunks = new Map(
    output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file] as const] : [])),
  );
  const loaded = new Set<string>();
  const load = (fileName: string): void => {
    if (loaded.has(fileName)) return;
    loaded.add(fileName);
    for (const imported of chunks.get(fileName)?.imports ?? []) load(imported);
  };
  for (const chunk of chunks.values()) if (chunk.isEntry) load(chunk.fileName);
  const bytes = [...loaded].reduce((sum, name) => sum + gzipSync(chunks.get(name)?.code ?? '').length, 0);
  return { name: 'page library, gzipped', unit: 'bytes', values: [bytes], goal: { atMost: 10_240 } };
}

export async function serviceWorkerBytes(): Promise<Row> {
  const code = await readFile('dist/test-site/localtext-sw.js');
  return {
    name: 'service worker, gzipped',
    unit: 'bytes',
    values: [gzipSync(code).length],
    goal: { atMost: 40_960 },
  };
}
