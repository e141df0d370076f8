import type { HubFile } from '../protocol/weights-messages.ts';
import type { LoadProgress } from '../protocol/worker-control.ts';

/** A chat or embedding model as a GGUF file, or all files of a split one; or a URL and its SHA-256; or a model of a repository of the model hub. */
export type AddSource = File | Iterable<File> | { url: string; sha256: string } | HubFile;

export interface AddOptions {
  /** Value of `model` in requests. Default: derived from the model's name. */
  id?: string;
  /** Keeps what the model's chat template adds by itself, such as a default system message. Default: false. */
  keepTemplateText?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}
