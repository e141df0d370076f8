import type { AddedModel } from '#catalog';

/** A model of a repository of the model hub. */
export interface HubFile {
  /** `owner/name`. */
  hub: string;
  /**
   * Path, or a part of a path that only one model has, such as its quantization. Default: the only model.
   */
  file?: string;
  /** A commit, tag or branch; default: `main`. */
  revision?: string;
}

/** A model that a repository offers; it can be given to `inspect()` and `add()`. */
export interface HubOffer extends Required<HubFile> {
  /** What the hub calls it. The header tells whether it is an embedding model. */
  kind: 'chat' | 'embedding';
  /** Quantization in the file's name, such as `Q4_K_M`; null: none. */
  quantization: string | null;
  /** Size of all its files. */
  bytes: number;
  /** Why it does not fit this device, as far as its size tells; null: nothing is known against it. */
  problem: string | null;
}

/** Facts from a model's files, before they are added. */
export interface ModelDetails extends Omit<AddedModel, 'id' | 'created' | 'completionsOnly'> {
  /** The id that it would get. */
  suggestedId: string;
  /** Tokens of prompt and reply together in its training. */
  trainedContextLength: number;
  hasChatTemplate: boolean;
  /**
   * Whether it has a chat template or the tokens of ChatML. A chat model without them answers only
   * `/v1/completions`.
   */
  canChat: boolean;
  tensors: number;
  /**
   * Why it does not fit this device, as a phrase that follows its name; null: nothing is known against it.
   */
  problem: string | null;
  /** A guess about the model that its answers depend on, in sentences. */
  warning?: string;
}

/** Answers of the weight store, by the type of the command. */
export interface WeightsReplies {
  list: WeightsOverview;
  describe: ModelDescription;
  import: ImportedFile;
  offers: HubOffer[];
  inspect: ModelDetails;
  add: AddedModel;
  rename: void;
  remove: void;
  delete: void;
  pause: void;
  resume: void;
  cancel: void;
}

export interface WeightsOverview {
  /** `opfs`: the origin private file system; `memory`: gone with the tab. */
  kind: 'opfs' | 'cache' | 'memory';
  /** Usage of the whole site, as the browser reports it; null: it does not. */
  usedBytes: number | null;
  quotaBytes: number | null;
  /** Whether the browser keeps it all when the disk runs short; null: it does not tell. */
  persisted: boolean | null;
  variants: StoredVariant[];
}

export interface StoredVariant {
  variant: string;
  /** Ids that it may answer for. */
  models: string[];
  engine: string;
  license: string;
  /** Bytes of all files; approximate while only the model hub knows them. */
  bytes: number;
  storedBytes: number;
  /** `outdated`: no variant of the catalog any more; dropped once its model's new weights are whole. */
  state: 'absent' | 'part' | 'whole' | 'outdated';
  /** Whether its download is paused by `pause()`. */
  paused: boolean;
  /** Whether it is in memory, or being loaded. */
  inUse: boolean;
  /** Milliseconds since 1970 of its last load, or of its adding; null: none is known. */
  lastUsed: number | null;
}

/** Name of the file that describes a model among its exported files. */
export const DESCRIPTION_FILE = 'localtext-model.json';

/** Files that make up a variant, for devices that have no other description of it. */
export interface ModelDescription {
  version: 1;
  variant: string;
  /** Files by their paths below the models folder. */
  files: { path: string; bytes: number; sha256: string }[];
}

export interface ImportedFile {
  /** Path of the file; null: it was a description. */
  path: string | null;
  /** Variants that are whole now and were not before. */
  completed: string[];
}
