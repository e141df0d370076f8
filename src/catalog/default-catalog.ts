import type { Catalog, Variant, WeightFile, VariantOf } from './catalog.ts';
import { defaultModels } from './default-models.ts';
import { filesIn } from './variant.ts';
import { qwen08B, qwen2B, qwen4B, qwenGguf05B, qwenGguf15B } from './hub-variants.ts';

/** SmolLM2-135M-Instruct by Hugging Face TB. */
const smolLm2Q4: VariantOf<'wllama'> = {
  engine: 'wllama',
  name: 'smollm2-135m-instruct-q4_1',
  license: 'Apache-2.0',
  contextLength: 8192,
  kvValues: 30 * 3 * (64 + 64),
  // Measured: docs/decisions/smollm2.md.
  sampling: { minP: 0.2, frequencyPenalty: 0.5 },
  // Measured: docs/typed-answers.md.
  toolChooser: 'jade-mole-4',
  files: filesIn('smollm2-135m-instruct', {
    'SmolLM2-135M-Instruct.Q4_1.gguf': [
      98362432,
      'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    ],
  }),
};

/** Published files of all-MiniLM-L6-v2 by Sentence Transformers, from which the variants are built. */
const MINI_LM = filesIn('all-minilm-l6-v2', {
  'config.json': [612, '953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41'],
  'tokenizer.json': [466247, 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037'],
  'tokenizer_config.json': [350, 'acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b'],
  'special_tokens_map.json': [112, '303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3'],
  'model.safetensors': [90868376, '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db'],
  'onnx/model.onnx': [41830, 'c02b7532dacf62fc9c06d413af5aa368ad5c2cb9715a1ec0b75335f1d98153c0'],
});

/** One of these files. @throws TypeError if there is none of this name */
export function miniLmFile(name: string): WeightFile {
  const file = MINI_LM.find(({ path }) => path === `all-minilm-l6-v2/${name}`);
  if (!file) throw new TypeError(`MiniLM has no file ${name}`);
  return file;
}

/** Fields that both variants share. */
const allMiniLm = {
  engine: 'transformers',
  license: 'Apache-2.0',
  contextLength: 512,
  dimensions: 384,
  pooling: 'mean',
} as const;

/**
 * Variant with the published float32 weights. `onnx/model.onnx` contains only the graph (src/node/graphs writes it).
 * It refers to the tensors in `model.safetensors` as `model.onnx_data`.
 */
const allMiniLmF32: VariantOf<'transformers'> = {
  ...allMiniLm,
  name: 'all-minilm-l6-v2-f32',
  files: MINI_LM,
};

/**
 * Variant with the weights in 8 bits (src/node/graphs): a quarter of the bytes, about twice as fast on the CPU, the only
 * device that has such products (docs/decisions/onnx-embeddings.md). Its small files are the same JSON without spaces,
 * so that the variants share no stored file.
 */
const allMiniLmInt8: VariantOf<'transformers'> = {
  ...allMiniLm,
  backend: 'wasm',
  name: 'all-minilm-l6-v2-int8',
  maxBatchSize: 1,
  optimizedGraph: true,
  files: filesIn('all-minilm-l6-v2-int8', {
    'config.json': [522, '0e353a830e95e6f012675b8e158eceb06540cf5cbe836149f49450622428eb14'],
    'tokenizer.json': [466247, 'f068f4c4a4337d192ac66f5da92f5d1076180a6cb0bea63b13814c4ef97409f5'],
    'tokenizer_config.json': [325, 'd892399b67378cc901c99686d435b9a8763ba0faf913539e1cf280353c131d7e'],
    'onnx/model.onnx': [23610634, 'b6db4f7ff62999d02e248973906a3c222e8742aa25e6a3fec62ed8e9c47dddda'],
  }),
};

const variants: Record<string, Variant[]> = {
  'crimson-falcon-4': [...qwen4B, ...qwen2B, qwenGguf15B, smolLm2Q4],
  'indigo-owl-4': [...qwen2B, ...qwen08B, qwenGguf05B, smolLm2Q4],
  'amber-phoenix-4': [...qwen08B, smolLm2Q4],
  'jade-mole-4': [allMiniLmInt8, { ...allMiniLmF32, optIn: true }],
};

/**
 * Catalog of sites without their own. Larger weights are selected if the device can run them and the site has them
 * or allows the model hub. The last variant that is not opt-in works everywhere.
 */
export const defaultCatalog: Catalog = {
  ...defaultModels,
  models: defaultModels.models.map((model) => ({ ...model, variants: variants[model.id] ?? [] })),
};
