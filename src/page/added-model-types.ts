import type { LoadProgress } from '../protocol/worker-control.ts';

/** A GGUF file, or all files of a split model; or a URL and its SHA-256; or a repository of the model hub. */
export type AddSource = File | Iterable<File> | { url: string; sha256: string } | HubFile;

/** A model of a repository of the model hub. */
export interface HubFile {
  /** `owner/name`. */
  hub: string;
  /** Its path, or a part of one that only one model has, as its quantization. None: the only model. */
  file?: string;
  /** A commit, tag or branch; default: `main`. */
  revision?: string;
}

/** A model that a repository offers; it can be given to `inspect()` and `add()`. */
export interface HubOffer extends Required<HubFile> {
  /** As the file's name has it, `Q4_K_M`; null: it names none. */
  quantization: string | null;
  /** Of all its files. */
  bytes: number;
  /** Why it does not fit this device, as far as its size tells; null: nothing is known against it. */
  problem: string | null;
}

export interface AddOptions {
  /** For `model` in requests; default: made of the model's name. */
  id?: string;
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

/** What a model's files say of it, before they are added. */
export interface ModelDetails {
  /** The id that it would get. */
  suggestedId: string;
  name: string;
  architecture: string;
  quantization: string;
  /** Tokens of prompt and reply together: what it was trained on, and what it would have here. */
  trainedContextLength: number;
  contextLength: number;
  hasChatTemplate: boolean;
  tensors: number;
  bytes: number;
  /** Bytes of memory that it takes while it is loaded, about. */
  memoryBytes: number;
  /** Why it does not fit this device, as a phrase that follows its name; null: nothing is known against it. */
  problem: string | null;
}
