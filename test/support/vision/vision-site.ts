import { createHash } from 'node:crypto';

import type { Catalog, WeightFile, VariantOf } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { type ModelServer, serveModels } from '../tiny-onnx/serve-models.ts';
import { PICTURES } from './pictures.ts';
import { tinyVision } from './tiny-vision.ts';

export const VISION_MODEL = 'opal-lynx-4';

/** A server of the tiny model that sees, and the default catalog with it. */
export async function visionModel(
  ...encoder: Parameters<typeof tinyVision>
): Promise<ModelServer & { catalog: Catalog }> {
  const { model, projector } = tinyVision(...encoder);
  const [picture] = PICTURES;
  const server = await serveModels({
    vision: { 'model.gguf': model, 'mmproj.gguf': projector },
    ...(picture && { pictures: { 'a.png': picture } }),
  });
  const file = (name: string, bytes: Buffer): WeightFile => ({
    path: `vision/${name}`,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    url: `${server.url}/vision/${name}`,
  });
  const variant: VariantOf<'wllama'> = {
    engine: 'wllama',
    name: 'tiny-vision-f32',
    license: 'MIT',
    contextLength: 2048,
    kvValues: 2 * 2 * 64,
    files: [file('model.gguf', model), { ...file('mmproj.gguf', projector), role: 'projector' }],
  };
  const created = 1_795_392_000;
  const models = [
    ...defaultCatalog.models,
    { id: VISION_MODEL, kind: 'chat' as const, created, variants: [variant] },
  ];
  return { ...server, catalog: { ...defaultCatalog, models } };
}
