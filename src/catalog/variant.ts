export interface VariantBase {
  engine: string;
  /** Identifies the weights and their quantization, also in `system_fingerprint`: `smollm2-135m-instruct-q4_1`. */
  name: string;
  /** SPDX id of the weights' licence. */
  license: string;
  /** Tokens of prompt and reply together. */
  contextLength: number;
  /** Files with pinned size and hash. Empty if the list comes from `hub`, or if there are no weights (upstream). */
  files: WeightFile[];
  /** Source of weights whose file list, sizes and hashes come from the hub or a manifest. */
  hub?: HubSource;
  /** Requirements for the device. Default: none. */
  needs?: DeviceNeeds;
  /** Whether it is used only by pages that prefer it by name, even if all variants before it fail. */
  optIn?: boolean;
}

export interface DeviceNeeds {
  /** Requires a hardware GPU with WebGPU. Default for web-llm: true. False accepts a software GPU. */
  webgpu?: boolean;
  /** Required WebGPU features, such as `shader-f16`. */
  features?: string[];
  /** Memory of weights, KV cache and working buffers, in bytes. Default: an estimate from the other fields. */
  memoryBytes?: number;
  /** Minimum number of logical processors, for variants that run on the CPU. */
  cores?: number;
}

/** A repository on the model hub. Hashes come from the hub (large files) or from a manifest that `localtext pull` writes. */
export interface HubSource {
  /** `owner/name`. */
  repository: string;
  /** Branch, tag or commit. */
  revision: string;
  /** Folder of the files, relative to the models folder. */
  folder: string;
  /** File names in the repository. Default: all that the engine reads. */
  files?: string[];
  /** Name of the file in `files` that is the projector of a GGUF model with vision. */
  projector?: string;
  /** SHA-256 of `files` in hex, by name. Files with another hash are rejected. */
  sha256?: Record<string, string>;
  /** Approximate total size of the files in bytes, for the quota check before a download. */
  approximateBytes: number;
}

/** One file of a model, at `<models URL>/<path>`. */
export interface WeightFile {
  /** Path relative to the models folder: `all-minilm-l6-v2/model.safetensors`. */
  path: string;
  bytes: number;
  /** SHA-256 in hex. */
  sha256: string;
  /** URL to fetch from, instead of the models folder. */
  url?: string;
  /** Set for a file that the user added from this device, which has no other source: its name there, and when. */
  added?: { name: string; at: number };
  /** Absent for a part of the model itself. */
  role?: FileRole;
}

/**
 * `projector`: encodes images for a GGUF model with vision (`mmproj` in llama.cpp's terms). `adapter`: a LoRA adapter in
 * GGUF, which is applied to a model of one file.
 */
export type FileRole = 'projector' | 'adapter';

/** A file on a server, with a known URL and size. */
export interface RemoteFile {
  name: string;
  url: string;
  bytes: number;
  sha256: string;
}

export const hasProjector = (variant: {
  files: readonly Pick<WeightFile, 'role'>[];
  hub?: Pick<HubSource, 'projector'>;
}): boolean => variant.files.some(({ role }) => role === 'projector') || variant.hub?.projector !== undefined;

/** Total size of all files in bytes; approximate if only the model hub knows it. */
export const weightBytes = ({
  files,
  hub,
}: {
  files: readonly Pick<WeightFile, 'bytes'>[];
  hub?: HubSource;
}): number => files.reduce((sum, { bytes }) => sum + bytes, hub?.approximateBytes ?? 0);

/** Whether a variant has weights. False for upstream servers and the browser's own model. */
export const hasWeights = ({ files, hub }: Pick<VariantBase, 'files' | 'hub'>): boolean =>
  files.length > 0 || hub !== undefined;

/** Files of a folder: bytes and SHA-256 by name. */
export const filesIn = (folder: string, files: Record<string, [number, string]>): WeightFile[] =>
  Object.entries(files).map(([name, [bytes, sha256]]) => ({ path: `${folder}/${name}`, bytes, sha256 }));
