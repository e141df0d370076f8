import type { VariantOf } from './catalog.ts';
import type { CatalogExtension } from './parse-catalog.ts';

interface SmolVlmBuild {
  size: '256M' | '500M';
  approximateBytes: number;
  kvValues: number;
  cores?: number;
}

/** SmolVLM-Instruct by Hugging Face in 8 bits, with its projector, from llama.cpp's repositories. */
function smolVlm({ size, approximateBytes, kvValues, cores }: SmolVlmBuild): VariantOf<'wllama'> {
  const model = `SmolVLM-${size}-Instruct-Q8_0.gguf`;
  const projector = `mmproj-${model}`;
  return {
    engine: 'wllama',
    name: `smolvlm-${size.toLowerCase()}-instruct-q8_0`,
    license: 'Apache-2.0',
    contextLength: 8192,
    kvValues,
    files: [],
    hub: {
      repository: `ggml-org/SmolVLM-${size}-Instruct-GGUF`,
      revision: 'main',
      folder: `smolvlm-${size.toLowerCase()}-instruct`,
      files: [model, projector],
      projector,
      approximateBytes,
    },
    ...(cores !== undefined && { needs: { cores } }),
  };
}

/** Chat about images, for `extendCatalog()`. Not in the default catalog. */
export const vision: CatalogExtension = {
  models: [
    {
      id: 'opal-lynx-4',
      kind: 'chat',
      created: 1795392000,
      variants: [
        smolVlm({ size: '500M', approximateBytes: 0.55e9, kvValues: 32 * 5 * (64 + 64), cores: 6 }),
        smolVlm({ size: '256M', approximateBytes: 0.28e9, kvValues: 30 * 3 * (64 + 64) }),
      ],
    },
  ],
};
