import { basename } from 'node:path';

import type { Catalog, CatalogModel, Variant } from '../../src/catalog/catalog.ts';
import { hubModels } from '../../src/catalog/hub-models.ts';
import type { ModelHub } from './model-hub.ts';
import { tinyMlc } from './web-llm/tiny-mlc.ts';

/** What stands for a model of the hub list. */
export interface StandIn {
  model: CatalogModel;
  variant: Variant;
  /** Files by their paths below the models folder: those of its repository, and a library beside them. */
  files: Record<string, Buffer>;
}

const LIBRARIES = 'mirror/libraries';

/** Each model of the hub list, with files of the right names: those of MLC are a tiny model's, others have some bytes. */
export const standIns: StandIn[] = (hubModels.models ?? []).flatMap((model) =>
  (model.variants as Variant[]).map((variant) => {
    const { hub } = variant;
    if (!hub) throw new Error(`${variant.name} is not from the hub`);
    const names = [
      ...(hub.files ?? Object.keys(tinyMlc)),
      ...(variant.engine === 'web-llm' ? [basename(variant.library)] : []),
    ];
    const files = names.map((name): [string, Buffer] => [
      `${hub.folder}/${name}`,
      Buffer.from(tinyMlc[name] ?? `${name} of ${variant.name}`),
    ]);
    return { model: model as CatalogModel, variant, files: Object.fromEntries(files) };
  }),
);

/**
 * Publishes what stands for the list's models on a hub of this machine.
 * @param contents files in place of the stand-ins, by their paths
 * @returns the list, with their commits, sizes and hashes there; `keepsHashes`: with the hashes that it names
 */
export function publishHubModels(
  hub: ModelHub,
  { keepsHashes = false, contents = {} }: { keepsHashes?: boolean; contents?: Record<string, Buffer> } = {},
): Catalog {
  const models = standIns.map(({ model, variant, files: standing }) => {
    const source = variant.hub;
    if (!source) throw new Error('a model is not from the hub');
    const files = Object.entries({ ...standing, ...contents }).filter(([path]) => path in standing);
    const published = Object.fromEntries(files.map(([path, bytes]) => [basename(path), bytes]));
    const library = libraryOf(hub, variant, published);
    const commit = hub.publish(source.repository, published);
    const sha256 =
      source.files &&
      Object.fromEntries(source.files.map((name) => [name, hub.hashOf(published[name] ?? '')]));
    const mirrored = {
      ...source,
      revision: source.revision === 'main' ? 'main' : commit,
      ...(sha256 && !keepsHashes && { sha256 }),
      approximateBytes: files.reduce((sum, [, bytes]) => sum + bytes.length, 0),
    };
    return { ...model, variants: [{ ...variant, ...library, hub: mirrored } as Variant] };
  });
  return { ownedBy: 'mirror', models };
}

/** The library of an MLC model is not in its repository: it comes from another address. */
function libraryOf(hub: ModelHub, variant: Variant, published: Record<string, Buffer>): { library?: string } {
  if (variant.engine !== 'web-llm') return {};
  const name = basename(variant.library);
  const { [name]: library = Buffer.alloc(0) } = published;
  delete published[name];
  hub.publish(LIBRARIES, { [name]: library });
  return { library: `${hub.url}/${LIBRARIES}/resolve/main/${name}` };
}
