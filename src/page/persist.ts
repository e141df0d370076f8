/**
 * Asks the browser to keep this site's storage when the disk runs short. Chromium decides by how often the site is
 * used, Firefox asks the user, and requires a recent click.
 */
export const requestPersistence = (): void => void navigator.storage?.persist?.().catch(() => undefined);
