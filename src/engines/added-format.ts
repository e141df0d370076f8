import type { AddedModel, AddedModelRecord } from '../catalog/added-models.ts';
import type { ModelFile } from '../model-files/gguf/inspect-model.ts';
import type { RemoteFile } from '../model-files/sources/hub-source.ts';
import type { ModelDetails } from '../protocol/weights-messages.ts';
import type { Device } from './device.ts';

/** A model among the files of a repository. */
export interface FoundModel {
  kind: 'chat' | 'embedding';
  /** Path; of a split model, without the number of the part. */
  file: string;
  files: RemoteFile[];
  /** The one of `files` that is left out if the engine cannot use it. */
  optional?: RemoteFile | undefined;
  /** Set if it is the one that is meant where no file is named. */
  isUsual?: boolean;
}

type Unstored<V> = V extends unknown ? Omit<V, 'name' | 'files'> : never;

/** A model before its files are stored. */
export interface DescribedModel<F> {
  /** Files in their order. */
  files: F[];
  /** The one of `files` that sees. */
  projector?: F | null;
  model: Omit<AddedModel, 'id' | 'created'>;
  variant: Unstored<AddedModelRecord['variant']>;
  /** Sampling of requests that name none. */
  defaults?: AddedModelRecord['defaults'];
  details: Pick<ModelDetails, 'trainedContextLength' | 'hasChatTemplate' | 'canChat' | 'tensors' | 'warning'>;
  /** Why it does not fit this device, as a phrase that follows its name; undefined: it may. */
  shortage: string | undefined;
  /** Why it cannot run although it fits, as such a phrase; checked only where it is added. */
  fault?(): Promise<string | undefined>;
}

export type SizedDevice = Pick<Device, 'gpu' | 'memoryGiB'>;

/** How an engine finds and describes models that the user adds. */
export interface AddedFormat {
  /** Names its models where a repository has none: `GGUF file`. */
  noun: string;
  /** Set if the engine finds files by their names, as they are in a repository. Others take any file. */
  isNamed?: true;
  /** @param isEmbedding whether the repository is said to have embedding models */
  find(files: readonly RemoteFile[], isEmbedding: boolean): FoundModel[];
  /** Why a repository that seems to have a model has none, as a phrase that follows its name. */
  lack?(files: readonly RemoteFile[]): string | undefined;
  /** Quantization of a model by the name of its file; null: the name does not tell. */
  quantization(file: string): string | null;
  /** Why weights of that size do not fit, as a phrase that follows their name; undefined: they may. */
  shortage(files: readonly { size: number }[], device: SizedDevice): string | undefined;
  /**
   * @param repository of the files; null: they have no common place
   * @throws ServiceError 400 `unsupported_model`; FormatError
   */
  describe<F extends ModelFile>(
    files: readonly F[],
    repository: string | null,
    device: SizedDevice,
    keepTemplateText: boolean,
  ): Promise<DescribedModel<F>>;
}
