import type { HubSource, VariantOf } from './catalog.ts';

/**
 * Folder of web-llm's model libraries. Ids, libraries and memory in this file are from web-llm's list of prebuilt
 * models (package 0.2.86); download sizes are approximate. Repositories are pinned to a commit if it is known. For
 * `main`, and for the libraries, the hashes of the first download are recorded (docs/weights.md).
 */
const MLC_LIBRARIES =
  'https://raw.githubusercontent.com/mlc-ai/binary-mlc-llm-libs/main/web-llm-models/v0_2_86/base';

const MB = 2 ** 20;

interface MlcBuild extends Pick<VariantOf<'web-llm'>, 'replyPrefix'> {
  /** Model id in web-llm's list. */
  id: string;
  /** `vram_required_MB` in web-llm's list. */
  memoryMiB: number;
  approximateBytes: number;
  /** Commit of the repository. */
  revision?: string;
  /** Tokens that the library computes at once, in its name. */
  chunk?: 'cs512' | 'cs1k';
}

/** A model compiled by MLC. It may support a longer context; `memoryMiB` is for this one. */
export function mlc(build: MlcBuild): VariantOf<'web-llm'> {
  const { id, memoryMiB, approximateBytes, revision = 'main', chunk = 'cs1k', ...fields } = build;
  const name = id.replace(/-MLC$/, '');
  return {
    engine: 'web-llm',
    name: name.toLowerCase(),
    license: 'Apache-2.0',
    contextLength: 4096,
    files: [],
    library: `${MLC_LIBRARIES}/${name}_${chunk}-webgpu.wasm`,
    ...fields,
    hub: { repository: `mlc-ai/${id}`, revision, folder: `mlc/${id}`, approximateBytes },
    needs: {
      webgpu: true,
      ...(id.includes('f16') && { features: ['shader-f16'] }),
      memoryBytes: Math.round(memoryMiB * MB),
    },
  };
}

/** Qwen3.5 by Alibaba's Qwen team. Reasons only on request. */
const qwen = (id: string, memoryMiB: number, approximateBytes: number, revision = 'main') =>
  mlc({ id, memoryMiB, approximateBytes, revision, replyPrefix: '<think>\n\n</think>\n\n' });

/** Variants by size. Half floats come first, as they take less memory and time. */
export const qwen4B: VariantOf<'web-llm'>[] = [
  qwen('Qwen3.5-4B-q4f16_1-MLC', 3867.82, 2.4e9, '44b42469f9e192814bfd90440e3b377d89ba7a13'),
  qwen('Qwen3.5-4B-q4f32_1-MLC', 4680.36, 2.6e9),
];
export const qwen2B: VariantOf<'web-llm'>[] = [
  qwen('Qwen3.5-2B-q4f16_1-MLC', 2245.44, 1.1e9, 'dd74e9c8a20c4546df85c844103bff87b6dcacad'),
  qwen('Qwen3.5-2B-q4f32_1-MLC', 2591.55, 1.2e9),
];
export const qwen08B: VariantOf<'web-llm'>[] = [
  qwen('Qwen3.5-0.8B-q4f16_1-MLC', 1629.49, 0.5e9, '0ec138972555613c1d7812a821778ad0398c8790'),
  qwen('Qwen3.5-0.8B-q4f32_1-MLC', 1894.19, 0.55e9),
];

/** Chat with a GGUF of a repository. */
export const ggufOnHub = (
  name: string,
  hub: HubSource,
  fields: Partial<VariantOf<'wllama'>> = {},
): VariantOf<'wllama'> => ({
  engine: 'wllama',
  name,
  license: 'Apache-2.0',
  contextLength: 8192,
  ...fields,
  files: [],
  hub,
});

/** Qwen2.5-Instruct in GGUF from the Qwen team's repositories, for CPUs with enough cores. */
function qwenGguf(
  size: '0.5b' | '1.5b',
  source: Pick<HubSource, 'revision' | 'approximateBytes'>,
  fields: Partial<VariantOf<'wllama'>>,
): VariantOf<'wllama'> {
  const repository = `Qwen/Qwen2.5-${size.toUpperCase()}-Instruct-GGUF`;
  const folder = `qwen2.5-${size}-instruct`;
  const name = `${folder}-q4_k_m`;
  return ggufOnHub(name, { repository, folder, files: [`${name}.gguf`], ...source }, fields);
}

export const qwenGguf15B = qwenGguf(
  '1.5b',
  { approximateBytes: 1.12e9, revision: '91cad51170dc346986eccefdc2dd33a9da36ead9' },
  { kvValues: 28 * 2 * (128 + 128), needs: { cores: 12 } },
);
export const qwenGguf05B = qwenGguf(
  '0.5b',
  { approximateBytes: 0.49e9, revision: '9217f5db79a29953eb74d5343926648285ec7e67' },
  // Measured with Qwen2.5-Coder 0.5B: docs/typed-answers.md.
  { kvValues: 24 * 2 * (64 + 64), toolChooser: 'jade-mole-4', needs: { cores: 6 } },
);
