import { existsSync, openAsBlob } from 'node:fs';
import { join } from 'node:path';

import type { Variant, VariantOf } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { extendCatalog } from '../../../src/catalog/parse-catalog.ts';
import { startOfBlob } from '../../../src/gguf/byte-cursor.ts';
import { inspectModel } from '../../../src/gguf/inspect-model.ts';
import { MODEL_LISTS } from '../../../src/node/model-lists.ts';

/** Weights to measure. */
export interface FoundWeights {
  /** Paths of its GGUF files. */
  paths: string[];
  variant: Omit<VariantOf<'wllama'>, 'files' | 'hub' | 'needs' | 'optIn' | 'toolChooser'>;
}

const CONTEXT = 4096;
const catalog = extendCatalog(defaultCatalog, ...MODEL_LISTS);

/**
 * The weights that a name means: a GGUF file by its path, a variant of the catalog or of the lists that extend it, or a model
 * of them, whose first stored GGUF counts.
 * @param folder where `localtext pull` puts weights
 * @throws RangeError for a name without weights that can be measured
 */
export async function findWeights(name: string, folder: string): Promise<FoundWeights> {
  if (/\.gguf$/i.test(name)) return fileWeights(name);
  const models = catalog.models.filter(({ kind }) => kind === 'chat');
  const variants = models.flatMap(({ id, variants: own }) =>
    own.filter((variant) => id === name || variant.name === name),
  );
  if (variants.length === 0) {
    const names = models.flatMap(({ id, variants: own }) => [id, ...own.map((variant) => variant.name)]);
    throw new RangeError(`There is no chat model "${name}". There are ${[...new Set(names)].join(', ')}.`);
  }
  const onCpu = variants.filter((variant) => variant.engine === 'wllama');
  if (onCpu.length === 0)
    throw new RangeError(`${name} needs a GPU: quality is measured of GGUF files, without one.`);
  // What a page needs, or prefers, does not count: the weights are there, and are asked for.
  for (const { files, hub, needs: _needs, optIn, toolChooser: _chooser, ...variant } of onCpu) {
    if (optIn !== undefined && variant.name !== name) continue;
    const paths = pathsOf(files, hub).map((path) => join(folder, path));
    if (paths.every((path) => existsSync(path))) return { paths, variant };
  }
  const names = onCpu.map((variant) => variant.name).join(' or ');
  throw new RangeError(`${name} has no weights in ${folder}: npx localtext pull ${names}`);
}

/** Paths below the models folder; no projector of a vision model, as texts alone are measured. */
const pathsOf = (files: Variant['files'], hub: Variant['hub']): string[] =>
  hub
    ? (hub.files ?? []).filter((file) => file !== hub.projector).map((file) => `${hub.folder}/${file}`)
    : files.filter(({ role }) => role !== 'projector').map(({ path }) => path);

async function fileWeights(path: string): Promise<FoundWeights> {
  const blob = await openAsBlob(path);
  const { traits } = await inspectModel([{ ...startOfBlob(blob), name: path }]);
  const name = `${traits.name ?? 'model'} ${traits.quantization}`
    .toLowerCase()
    .replaceAll(/[^a-z\d.]+/g, '-');
  const { kvValues, kvWindow, stateBytes } = traits;
  return {
    paths: [path],
    variant: {
      engine: 'wllama',
      name,
      license: 'unknown',
      contextLength: CONTEXT,
      kvValues,
      ...(kvWindow && { kvWindow }),
      ...(stateBytes > 0 && { stateBytes }),
    },
  };
}
