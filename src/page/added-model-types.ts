import type { EmbeddingShape } from '../catalog/added-models.ts';
import type { LoadProgress } from '../protocol/worker-control.ts';

/** A chat or embedding model as a GGUF file, or all files of a split one; or a URL and its SHA-256; or a model of a repository of the model hub. */
export type AddSource = File | Iterable<File> | { url: string; sha256: string } | HubFile;

/** A model of a repository of the model hub. */
export interface HubFile {
  /** `owner/name`. */
  hub: string;
  /**
   * Path, or a part of one that only one model has, as its quantization. Default: the only model, or `onnx/model.onnx`.
   */
  file?: string;
  /** A commit, tag or branch; default: `main`. */
  revision?: string;
}

/** A model that a repository offers; it can be given to `inspect()` and `add()`. */
export interface HubOffer extends Required<HubFile> {
  /** `chat`: a GGUF, whose header tells whether it is an embedding model. `embedding`: one in ONNX. */
  kind: 'chat' | 'embedding';
  /** Quantization in the file's name, such as `Q4_K_M`; null: none. */
  quantization: string | null;
  /** Size of all its files. */
  bytes: number;
  /** Why it does not fit this device, as far as its size tells; null: nothing is known against it. */
  problem: string | null;
}

export interface AddOptions {
  /** Value of `model` in requests. Default: derived from the model's name. */
  id?: string;
  /** Keeps what the model's chat template adds by itself, such as a default system message. Default: false. */
  keepTemplateText?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

/** Facts from a model's files, before they are added. */
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
  /** Whether it has a chat template or the tokens of ChatML. Otherwise a chat model is for `/v1/completions` alone. */
  canChat: boolean;
  /** Number of tensors; null: unknown until the graph is loaded (ONNX). */
  tensors: number | null;
  bytes: number;
  /** Estimated bytes of memory while loaded. */
  memoryBytes: number;
  /** Embedding models only. */
  embedding?: EmbeddingShape;
  /** Why it does not fit this device, as a phrase that follows its name; null: nothing is known against it. */
  problem: string | null;
}
