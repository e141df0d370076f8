import { trustedScriptUrl } from '../util/trusted-urls.ts';
import { SiteFiles, type SiteFile } from './site-files.ts';

declare const self: { location: { href: string }; importScripts(url: string): void };
/** Put before the script by the Vite plugin and by `localtext init`, or set by the script `OWN_FILES`. */
declare const __LOCALTEXT_LARGE_FILES__: readonly SiteFile[] | undefined;
/** Set where the site's other files are not localtext's to keep. */
declare const __LOCALTEXT_SMALL_FILES__: readonly SiteFile[] | undefined;

/** Beside the service worker, where another tool than the Vite plugin has bundled that. */
const OWN_FILES = 'localtext-sw-files.js';

export interface OwnFiles {
  /** Kept from the installation on. */
  small: SiteFiles;
  /**
   * Kept when first used. With tens of megabytes among what is installed, a first visit would wait for all of them
   * before it could send a request.
   */
  large: SiteFiles;
}

/** Call it while the script is evaluated: later, a service worker may import nothing. */
export function ownFiles(): OwnFiles {
  if (typeof __LOCALTEXT_LARGE_FILES__ === 'undefined') importList();
  return {
    small: new SiteFiles(
      'localtext-small-files',
      typeof __LOCALTEXT_SMALL_FILES__ === 'undefined' ? [] : __LOCALTEXT_SMALL_FILES__,
    ),
    large: new SiteFiles(
      'localtext-large-files',
      typeof __LOCALTEXT_LARGE_FILES__ === 'undefined' ? [] : __LOCALTEXT_LARGE_FILES__,
    ),
  };
}

/** The browser stores what a service worker imports, and compares it too when it looks for an update. */
function importList(): void {
  try {
    self.importScripts(trustedScriptUrl(new URL(OWN_FILES, self.location.href)));
  } catch (error) {
    console.warn(
      `localtext: ${OWN_FILES} is not beside the service worker, or the worker is a module: localtext's files will not be available offline.`,
      error,
    );
  }
}
