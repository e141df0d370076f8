import type { CatalogModel, SamplingDefaults } from './catalog.ts';
import { DEFAULT_SAMPLING, type VariantSampling } from './default-sampling.ts';
import { ggufOnHub, mlc } from './hub-variants.ts';
import type { CatalogExtension } from './parse-catalog.ts';

interface GgufBuild {
  /** Value of `model` in requests. */
  id: string;
  /** Default: Apache-2.0. */
  license?: string;
  repository: string;
  /** Commit of the repository. */
  revision: string;
  /** Size of the file `…-Q4_K_M.gguf`, named after the repository `…-GGUF`. */
  bytes: number;
  sha256: string;
  /** Layers with attention × key-value heads × (key + value size). */
  kvValues: number;
  /** Size of the recurrent layers' state, in bytes. */
  stateBytes?: number;
  /** Sampling that the model card recommends. Default: llama.cpp's defaults. */
  sampling?: VariantSampling;
  defaults?: SamplingDefaults;
}

/** Date on which the files were listed. */
const created = 1795564800;

/** Facts from the model cards of Qwen3.5 0.8B and 2B: 18 of 24 layers have a state of 16 heads of 128 × 128 values. */
const QWEN = {
  kvValues: 6 * 2 * (256 + 256),
  // In float32, with the last three inputs of the convolution of queries, keys and values.
  stateBytes: 18 * 4 * (16 * 128 * 128 + 3 * 3 * 16 * 128),
  sampling: { topK: 20 },
};

function gguf(build: GgufBuild): CatalogModel {
  const { id, repository, revision, bytes: approximateBytes, sha256, defaults, ...fields } = build;
  const file = repository.replace(/.*\/(.*)-GGUF$/, '$1-Q4_K_M.gguf');
  const hashes = { [file]: sha256 };
  const hub = { repository, revision, folder: id, files: [file], sha256: hashes, approximateBytes };
  const variant = ggufOnHub(`${id}-q4_k_m`, hub, { sampling: DEFAULT_SAMPLING, ...fields });
  return { id, kind: 'chat', created, variants: [variant], ...(defaults && { defaults }) };
}

const gemma4 = mlc({
  id: 'gemma-4-E2B-it-q4f16_1-MLC',
  memoryMiB: 3387.37,
  approximateBytes: 2.9e9,
  chunk: 'cs512',
});

/**
 * Small chat models on the model hub, for `extendCatalog()`. They are not in the default catalog, and localtext's
 * tests do not run them. Commits, sizes and hashes are those that several public projects pin.
 */
export const hubModels: CatalogExtension = {
  models: [
    gguf({
      id: 'lfm2.5-350m',
      license: 'LicenseRef-LFM1.0',
      repository: 'LiquidAI/LFM2.5-350M-GGUF',
      revision: 'bb7ee58b243e4cede04187e323e760b04f8a0091',
      bytes: 229312224,
      sha256: '7e6f72643caafc9a68256686638c4d7916f2cec76d1df478d4c3ddcd95a6aed4',
      kvValues: 6 * 8 * (64 + 64),
      // The last inputs of ten short convolutions.
      stateBytes: 10 * 4 * 2 * 1024,
      sampling: { topK: 50, repeatPenalty: 1.05 },
      defaults: { temperature: 0.1, topP: 0.1 },
    }),
    gguf({
      id: 'granite-4.0-350m',
      repository: 'ibm-granite/granite-4.0-350m-GGUF',
      revision: 'b8208a86a58427e1739265318028eb5895b74bf2',
      bytes: 236985760,
      sha256: '771c588a49607f274a2bba3185733607ebe6f74b996ab90e2d6bee0d98bcec52',
      kvValues: 28 * 4 * (64 + 64),
    }),
    gguf({
      id: 'smollm2-360m-instruct',
      repository: 'bartowski/SmolLM2-360M-Instruct-GGUF',
      revision: 'ab928a97ee49f3a015f35194879f68211291d6ca',
      bytes: 270590880,
      sha256: '2fa3f013dcdd7b99f9b237717fa0b12d75bbb89984cc1274be1471a465bac9c2',
      kvValues: 32 * 5 * (64 + 64),
    }),
    gguf({
      id: 'qwen3.5-0.8b',
      repository: 'unsloth/Qwen3.5-0.8B-GGUF',
      revision: '6ab461498e2023f6e3c1baea90a8f0fe38ab64d0',
      bytes: 532517120,
      sha256: 'bd258782e35f7f458f8aced1adc053e6e92e89bc735ba3be89d38a06121dc517',
      ...QWEN,
    }),
    gguf({
      id: 'qwen3.5-2b',
      repository: 'unsloth/Qwen3.5-2B-GGUF',
      revision: 'f6d5376be1edb4d416d56da11e5397a961aca8ae',
      bytes: 1280835840,
      sha256: 'aaf42c8b7c3cab2bf3d69c355048d4a0ee9973d48f16c731c0520ee914699223',
      ...QWEN,
    }),
    { id: 'gemma-4-e2b', kind: 'chat', created, variants: [gemma4] },
  ],
};
