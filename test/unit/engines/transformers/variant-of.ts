import type { VariantOf } from '../../../../src/catalog/catalog.ts';
import type { EngineContext } from '../../../../src/engine-kit/engine.ts';
import { never } from '../../../support/never.ts';

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

/** A store with these texts, all others being `{}`. */
export const contextOf = (texts: Record<string, string>): EngineContext => ({
  file: async (path) => new Blob([texts[path.replace('a/tiny/', '')] ?? '{}']),
  wasm: (name) => name,
  onProgress: () => undefined,
  signal: never,
});
