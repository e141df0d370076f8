/** One file of a build, as the Vite plugin and `localtext init` list it for the service worker. */
export interface SiteFile {
  /** Relative to the service worker's script. */
  url: string;
  /** Null: the file is the bundle's, and its name may have a hash of the content. */
  revision: string | null;
  /** Hex. The service worker stores no other body under this URL. */
  sha256: string;
  /**
   * Texts that identify a page of this build if the host alters pages. Absent: the page must have the hash.
   */
  marks?: string[];
}

/** Set if a server renders the site's pages: they come from the network, and are stored as they are seen. */
export interface NetworkFirst {
  /** Page of the build that is shown without a network in place of one that is not stored, relative to the script. */
  offlinePage?: string;
}
