import type { WebLlmVariant } from '../../src/catalog/catalog.ts';

/** An MLC model that is named on the command line. */
export interface MlcUrls {
  /** Folder with `mlc-chat-config.json`; ends in `/`. */
  model: string;
  /** Its WASM library. */
  library: string;
}

/** What to give for one; `prefix`: of both options' names. */
export const mlcOptions = (prefix = ''): string =>
  `--${prefix}model <URL of a folder with mlc-chat-config.json> --${prefix}lib <URL of its WASM library>`;

/** Explains where such URLs are found. */
export const mlcListed = (prefix = ''): string =>
  `In web-llm's own list of models, --${prefix}model is "model" followed by /resolve/main/, and --${prefix}lib is "model_lib".`;

/** Null: neither was given. @throws RangeError when one is missing, or is no URL */
export function mlcUrls(model: string | undefined, library: string | undefined, prefix = ''): MlcUrls | null {
  if (model === undefined && library === undefined) return null;
  for (const [name, url] of Object.entries({ model, lib: library }))
    if (url === undefined || !/^https?:\/\//.test(url) || !URL.canParse(url))
      throw new RangeError(
        `--${prefix}${name} must be a URL that begins with https:// or http://, ${url === undefined ? 'and is missing' : `not ${url}`}. Give both: ${mlcOptions(prefix)}`,
      );
  return { model: `${model}`.replace(/\/*$/, '/'), library: `${library}` };
}

/** Folder of such a model below the models folder. */
export const MLC_FOLDER = 'mlc';

/** A variant for whatever model it is; how its files are had is the caller's to say. */
export const mlcVariant = (files: Pick<WebLlmVariant, 'library' | 'files' | 'hub'>): WebLlmVariant => ({
  engine: 'web-llm',
  name: 'model-under-test',
  license: 'unknown',
  contextLength: 4096,
  needs: { webgpu: false },
  ...files,
});
