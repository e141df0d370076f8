import type { VariantOf } from '../../../../src/catalog/catalog.ts';

/** An embedding model's variant with files of these names. */
export const variantOf = (...names: string[]): VariantOf<'transformers'> => ({
  engine: 'transformers',
  name: 'tiny',
  license: 'CC0-1.0',
  contextLength: 64,
  dimensions: 8,
  pooling: 'mean',
  files: names.map((name) => ({ path: `a/tiny/${name}`, bytes: 1, sha256: 'a'.repeat(64) })),
});
