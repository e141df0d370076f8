import type { VariantOf } from '../../src/catalog/catalog.ts';

/** An MLC model that the environment names. */
export interface MlcUrls {
  /** Folder with `mlc-chat-config.json`; ends in `/`. */
  model: string;
  /** Its WASM library. */
  library: string;
}

/** How a run names a model. */
export const MLC_HOW =
  'Set MLC_MODEL to the URL of a folder with mlc-chat-config.json, and MLC_LIBRARY to the URL of its WASM library. In web-llm\'s own list of models, the first is "model" followed by /resolve/main/, and the second is "model_lib".';

/** Null: the environment names no model. @throws RangeError if one of the two is missing, or is not a URL */
export function mlcUrls(): MlcUrls | null {
  const { MLC_MODEL: model, MLC_LIBRARY: library } = process.env;
  if (model === undefined && library === undefined) return null;
  for (const url of [model, library])
    if (url === undefined || !/^https?:\/\//.test(url) || !URL.canParse(url)) throw new RangeError(MLC_HOW);
  return { model: `${model}`.replace(/\/*$/, '/'), library: `${library}` };
}

/** Folder of such a model below the models folder. */
export const MLC_FOLDER = 'mlc';

/** A variant for whatever model it is; how its files are had is the caller's to say. */
export const mlcVariant = (
  files: Pick<VariantOf<'web-llm'>, 'library' | 'files' | 'hub'>,
): VariantOf<'web-llm'> => ({
  engine: 'web-llm',
  name: 'model-under-test',
  license: 'unknown',
  contextLength: 4096,
  needs: { webgpu: false },
  ...files,
});
