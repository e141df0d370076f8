import type { AddedModel, AddedModelRecord, FileRole, RemoteFile } from '#catalog';
import type { ModelFile } from '#gguf';
import type { ModelDetails } from '#protocol';
import type { Device } from './device.ts';

/** A model among the files of a repository. */
export interface FoundModel {
  kind: 'chat' | 'embedding';
  /** Path of the file. The part number of a split model is left out. */
  file: string;
  files: RemoteFile[];
  /** Member of `files` that is left out if the engine cannot use it. */
  optional?: RemoteFile | undefined;
}

type Unstored<V> = V extends unknown ? Omit<V, 'name' | 'files'> : never;

/** A model before its files are stored. */
export interface DescribedModel<F> {
  /** Files in load order. */
  files: F[];
  /** Roles of files that are not parts of the model itself. */
  roles?: ReadonlyMap<F, FileRole>;
  model: Omit<AddedModel, 'id' | 'created'>;
  variant: Unstored<AddedModelRecord['variant']>;
  /** Sampling for requests that set none. */
  defaults?: AddedModelRecord['defaults'];
  details: Pick<ModelDetails, 'trainedContextLength' | 'hasChatTemplate' | 'canChat' | 'tensors' | 'warning'>;
  /** Why the model does not fit this device, as a phrase that follows its name; undefined if it may fit. */
  shortage: string | undefined;
  /** Why a model that fits cannot run, as a phrase that follows its name. Checked only when the model is added. */
  fault?(): Promise<string | undefined>;
}

export type SizedDevice = Pick<Device, 'gpu' | 'memoryGiB'>;

/** How an engine finds and describes models that the user adds. One engine has it. */
export interface AddedFormat {
  /** What the format's models are called in messages: `GGUF file`. */
  noun: string;
  /** @param isEmbedding whether the repository is tagged as having embedding models */
  find(files: readonly RemoteFile[], isEmbedding: boolean): FoundModel[];
  /** Reads the quantization from a file name; null if the name has none. */
  quantization(file: string): string | null;
  /** Why weights of this size do not fit, as a phrase that follows their name; undefined if they may fit. */
  shortage(files: readonly { size: number }[], device: SizedDevice): string | undefined;
  /** @throws ServiceError 400 `unsupported_model`; FormatError */
  describe<F extends ModelFile>(files: readonly F[], device: SizedDevice): Promise<DescribedModel<F>>;
}
