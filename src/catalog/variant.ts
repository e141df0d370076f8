export interface VariantBase {
  engine: string;
  /** Names the weights and their quantization in `system_fingerprint`: `smollm2-135m-instruct-q4_1`. */
  name: string;
  /** SPDX id of the weights' licence. */
  license: string;
  /** Tokens of prompt and reply together. */
  contextLength: number;
  /** Files with pinned size and hash. Empty: the list comes from `hub`, or there are no weights (upstream). */
  files: WeightFile[];
  /** Source of weights whose list, sizes and hashes only the hub, or a manifest, knows. */
  hub?: HubSource;
  /** Requirements of the device. Default: none. */
  needs?: DeviceNeeds;
  /**
   * true: used only by pages that prefer it by name, even where all variants before it fail. `if-stored`: also on devices that
   * have its weights already, such as those of an earlier version of the site.
   */
  optIn?: boolean | 'if-stored';
}

export interface DeviceNeeds {
  /** A GPU through WebGPU that is not a software one. Default for web-llm; false accepts a software GPU. */
  webgpu?: boolean;
  /** WebGPU features by their names in the specification: `shader-f16`. */
  features?: string[];
  /** Bytes of memory that weights, KV cache and working buffers take together. Default: an estimate from the other fields. */
  memoryBytes?: number;
  /** Logical processors, for what the CPU computes. */
  cores?: number;
}

/** A repository of the model hub. Hashes: the hub's own for large files; a manifest written by `localtext pull`. */
export interface HubSource {
  /** `owner/name`. */
  repository: string;
  /** Branch, tag or commit. */
  revision: string;
  /** Folder for the files below the models folder. */
  folder: string;
  /** Names inside the repository; none: all that the engine asks for. */
  files?: string[];
  /** Name, among `files`, of the projector of a GGUF model with vision. Experimental. */
  projector?: string;
  /** Hex SHA-256 of `files`, by name: a repository that has something else under a name is refused. */
  sha256?: Record<string, string>;
  /** Bytes of all files together, about: for the quota check before anything is downloaded. */
  approximateBytes: number;
}

/** One file of a model, at `<models URL>/<path>`. */
export interface WeightFile {
  /** Relative to the models folder, `/` between parts: `all-minilm-l6-v2/model.safetensors`. */
  path: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  /** URL to fetch from, instead of the models folder. */
  url?: string;
  /** The part of a model that sees: `mmproj` in llama.cpp's terms. Of a GGUF variant. Experimental. */
  role?: 'projector';
}

export const hasProjector = (variant: {
  files: readonly Pick<WeightFile, 'role'>[];
  hub?: Pick<HubSource, 'projector'>;
}): boolean => variant.files.some(({ role }) => role === 'projector') || variant.hub?.projector !== undefined;

/** Bytes of all files. An estimate where only the model hub knows the size. */
export const weightBytes = ({
  files,
  hub,
}: {
  files: readonly Pick<WeightFile, 'bytes'>[];
  hub?: HubSource;
}): number => files.reduce((sum, { bytes }) => sum + bytes, hub?.approximateBytes ?? 0);

/** Whether a variant has weights: false for what runs on a server, or in the browser itself. */
export const hasWeights = ({ files, hub }: Pick<VariantBase, 'files' | 'hub'>): boolean =>
  files.length > 0 || hub !== undefined;
