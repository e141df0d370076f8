import type { EngineContext } from '../engine.ts';
import { folderOf, graphOf, type OnnxVariant } from './transformers-files.ts';

/** A file of a model, by its name in the model's folder; null: there is none. */
export type ReadFile = (name: string) => Promise<Blob | null>;

export interface ModelFiles {
  read: ReadFile;
  /** Aborts when a file cannot be fetched: transformers.js waits forever for some of them. */
  failed: AbortSignal;
}

/** A variant's files from the store. A file that the catalog does not list does not exist: nothing is fetched. */
export function filesOf(variant: OnnxVariant, { file }: Pick<EngineContext, 'file'>): ModelFiles {
  const folder = folderOf(variant);
  const paths = new Set(variant.files.map(({ path }) => path));
  const dataOfGraph = `onnx/${graphOf(variant)}.onnx_data`;
  const failing = new AbortController();
  const read = async (name: string): Promise<Blob | null> => {
    // The graph's name for its tensors' file; it may be a safetensors file.
    const names = name === dataOfGraph ? [name, 'model.safetensors'] : [name];
    const path = names.map((each) => folder + each).find((each) => paths.has(each));
    if (path === undefined) return null;
    try {
      return await file(path);
    } catch (error) {
      failing.abort(error);
      throw error;
    }
  };
  return { read, failed: failing.signal };
}
