import { SiteFiles, type SiteFile } from './site-files.ts';

/** The engines' WASM files and the like, put before the script by the Vite plugin and by `localtext init`. */
declare const __LOCALTEXT_LARGE_FILES__: readonly SiteFile[] | undefined;

/**
 * Files too large to be fetched beforehand: cached when first used. With tens of megabytes among what is installed, a
 * first visit would wait for all of them before it could send a request.
 */
export const largeFiles = new SiteFiles(
  'localtext-large-files',
  typeof __LOCALTEXT_LARGE_FILES__ === 'undefined' ? [] : __LOCALTEXT_LARGE_FILES__,
);
