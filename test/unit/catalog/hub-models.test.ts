import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

import type { Variant } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { hubModels } from '../../../src/catalog/hub-models.ts';
import { estimateMemory } from '../../../src/catalog/memory-estimate.ts';
import { extendCatalog, parseCatalog } from '../../../src/catalog/parse-catalog.ts';

const variants = (hubModels.models ?? []).flatMap((model) => model.variants as Variant[]);
/** What each licence allows is known: a new one is added here once it has been read. */
const LICENCES = new Set(['Apache-2.0', 'LicenseRef-LFM1.0']);

test('the list extends the default catalog, and reuses none of its ids', () => {
  const extended = parseCatalog(extendCatalog(defaultCatalog, hubModels));
  const ids = extended.models.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(['qwen3.5-0.8b', 'gemma-4-e2b', 'amber-phoenix-4']));
});

test.each(variants.map((variant) => [variant.name, variant] as const))(
  '%s names its licence, its repository and what it needs',
  (_, { license, hub, needs, ...variant }) => {
    expect(LICENCES).toContain(license);
    expect(hub?.repository).toMatch(/^[\w.-]+\/[\w.-]+$/);
    const estimated = estimateMemory({ ...variant, ...(hub && { hub }), ...(needs && { needs }) });
    expect(estimated.memoryBytes).toBeGreaterThan(1.2 * (hub?.approximateBytes ?? Infinity));
  },
);

test.each(variants.filter(({ engine }) => engine === 'wllama').map(({ name, hub }) => [name, hub] as const))(
  '%s is one file of a commit, with its SHA-256',
  (_, hub) => {
    expect(hub?.revision).toMatch(/^[0-9a-f]{40}$/);
    expect(hub?.files).toHaveLength(1);
    const [file = ''] = hub?.files ?? [];
    expect(file).toMatch(/Q4_K_M\.gguf$/);
    expect(hub?.sha256?.[file]).toMatch(/^[0-9a-f]{64}$/);
  },
);

test('docs/models.md says how much memory each takes', async () => {
  const docs = await readFile('docs/models.md', 'utf8');
  for (const { id, variants: own } of hubModels.models ?? []) {
    const gigabytes = Math.max(...own.map((variant) => estimateMemory(variant as Variant).memoryBytes)) / 1e9;
    const row = docs.split('\n').find((line) => line.startsWith(`| \`${id}\``));
    expect(row).toContain(`${gigabytes.toFixed(1)} GB of memory`);
  }
});
