import type { EngineContext } from '#engine-kit';
import { folderOf, graphOf, type OnnxVariant } from './transformers-files.ts';

/** Opens a model's file by its name in the model's folder; null if there is none. */
export type ReadFile = (name: string) => Promise<Blob | null>;

/** Opens a variant's files through the store. Files that the catalog does not list do not exist. */
export function filesOf(variant: OnnxVariant, { file }: Pick<EngineContext, 'file'>): ReadFile {
  const folder = folderOf(variant);
  const paths = new Set(variant.files.map(({ path }) => path));
  const dataOfGraph = `onnx/${graphOf(variant)}.onnx_data`;
  return async (name) => {
    // The graph's tensors may be in a safetensors file instead.
    const names = name === dataOfGraph ? [name, 'model.safetensors'] : [name];
    const path = names.map((each) => folder + each).find((each) => paths.has(each));
    return path === undefined ? null : file(path);
  };
}
