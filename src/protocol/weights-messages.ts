import type { AddedModel, EmbeddingShape } from '../catalog/added-models.ts';

/** A file whose place and size are known. */
export interface RemoteFile {
  name: string;
  url: string;
  bytes: number;
  /** Hash; null: a small file, of which the hub has none, and which is read to be hashed. */
  sha256: string | null;
}

/** A chat model in GGUF, or an embedding model in ONNX, of a repository of the model hub. */
export interface HubModel {
  kind: 'chat' | 'embedding';
  /** Path; of a split model, without the number of the part. */
  file: string;
  /** The commit that it was found at. */
  revision: string;
  /** Size of all its files. */
  bytes: number;
  /** Files of the model: an embedding model's graph first, a chat model's projector last. */
  files: RemoteFile[];
  /** Facts of the chosen embedding model. */
  facts?: EmbeddingFacts;
}

/** Facts about an embedding model from its small files. */
export interface EmbeddingFacts extends EmbeddingShape {
  name: string;
  /** `bert`. */
  architecture: string;
  /** Whether its graph quantizes by all that it is given. */
  quantized: boolean;
  /** Context length of the training, and the one here. */
  trainedContextLength: number;
  contextLength: number;
}

interface Done {
  type: 'done';
}

/** Answers of the weight store, by the type of the command. */
export interface WeightsReplies {
  list: { type: 'list'; store: WeightsOverview };
  describe: { type: 'described'; description: ModelDescription };
  import: { type: 'imported'; imported: ImportedFile };
  hub: { type: 'hub'; models: HubModel[] };
  add: { type: 'added'; model: AddedModel };
  rename: Done;
  remove: Done;
  delete: Done;
  pause: Done;
  resume: Done;
  cancel: Done;
}

export type WeightsReply = WeightsReplies[keyof WeightsReplies];

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
  /** Bytes of all files; about, while only the model hub knows them. */
  bytes: number;
  storedBytes: number;
  /** Bytes that lie in cross-origin storage, and take none of this site's. */
  sharedBytes: number;
  /** `outdated`: no variant of the catalog any more; dropped once its model's new weights are whole. */
  state: 'absent' | 'part' | 'whole' | 'outdated';
  /** A download of it is held by `pause()`. */
  paused: boolean;
  /** Whether it is in memory, or being loaded. */
  inUse: boolean;
  /** Milliseconds since 1970 of its last load; null: none that is known of. */
  lastUsed: number | null;
}

/** Name of the file that describes a model among its exported files. */
export const DESCRIPTION_FILE = 'localtext-model.json';

/** Files that make up a variant, for machines where nothing else can tell. */
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
