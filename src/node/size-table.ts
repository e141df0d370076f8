import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { Variant } from '#catalog';
import { defaultCatalog } from '#catalog/default';
import { MODEL_LISTS } from './model-lists.ts';

type Row = [name: string, visitor: string, engine: string, deployed: string];

/** Files of an engine that a visitor's device downloads once, without a GPU and with one. */
const ENGINE_FILES: Readonly<Record<Variant['engine'], string[]>> = {
  wllama: ['wllama.wasm'],
  transformers: ['ort-wasm-simd-threaded.wasm', 'ort-wasm-simd-threaded.asyncify.wasm'],
  whisper: ['ort-wasm-simd-threaded.wasm'],
  voice: ['ort-wasm-simd-threaded.wasm'],
  'web-llm': [],
  'built-in': [],
  upstream: [],
};

const models = [defaultCatalog, ...MODEL_LISTS].flatMap((list) => list.models ?? []);

/**
 * Sizes of a folder's models, as a table for the end of `localtext pull` and of a build.
 * @param wasm names and sizes of the engines' files
 * @param siteBytes the build's other files; null: not known
 * @returns no lines if the folder has no files
 */
export async function sizeTable(
  folder: string,
  wasm: ReadonlyMap<string, number>,
  siteBytes: number | null,
): Promise<string[]> {
  const unclaimed = await sizesOf(folder);
  if (unclaimed.size === 0) return [];
  const modelBytes = sum(unclaimed.values());
  const variants = new Map(
    models.flatMap((model) => model.variants.map((variant) => [variant.name, variant])),
  );
  const rows: Row[] = [];
  for (const variant of variants.values()) {
    const { visitor, deployed } = claim(variant, unclaimed);
    if (deployed === 0) continue;
    const engine = ENGINE_FILES[variant.engine].map((name) => megabytes(wasm.get(name) ?? 0));
    rows.push([variant.name, megabytes(visitor), engine.join(' or '), megabytes(deployed)]);
  }
  const others = sum(unclaimed.values());
  if (others > 0) rows.push(['other files', '', '', megabytes(others)]);
  if (siteBytes !== null) rows.push(['pages, scripts, engines', '', '', megabytes(siteBytes)]);
  rows.push(['in all', '', '', megabytes(modelBytes + (siteBytes ?? 0))]);
  return [
    ...aligned([['MB', 'a visitor downloads', 'and its engine', 'you deploy'], ...rows]),
    'A visitor downloads a model when it is first used, and keeps it. To leave one out, delete its folder and its entries in',
    'manifest.json, or name those that the site has: npx localtext pull amber-phoenix-4',
  ];
}

/** Removes a variant's files from `unclaimed`: a file that two variants share is deployed once. */
function claim(variant: Variant, unclaimed: Map<string, number>): { visitor: number; deployed: number } {
  const paths = variant.hub
    ? [...unclaimed.keys()].filter((path) => path.startsWith(`${variant.hub?.folder}/`))
    : variant.files.map(({ path }) => path);
  const visitor = variant.hub ? null : sum(variant.files.map(({ bytes }) => bytes));
  let deployed = 0;
  for (const path of paths) {
    deployed += unclaimed.get(path) ?? 0;
    unclaimed.delete(path);
  }
  return { visitor: visitor ?? deployed, deployed };
}

async function sizesOf(folder: string): Promise<Map<string, number>> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = new Map<string, number>();
  for (const name of names) {
    const found = await stat(join(folder, name)).catch(() => null);
    if (found?.isFile()) sizes.set(name.replaceAll('\\', '/'), found.size);
  }
  return sizes;
}

function aligned(rows: readonly Row[]): string[] {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(width(column)) : cell.padStart(width(column));
  return rows.map((row) => row.map(pad).join('  '));
}

export const sum = (numbers: Iterable<number>): number =>
  [...numbers].reduce((total, each) => total + each, 0);

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
