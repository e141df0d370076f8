/**
 * Version of everything that crosses between page, service worker and engine worker.
 * Raise it when a message changes shape: a side that meets another version refuses with a clear error
 * (`protocol_mismatch`) rather than guessing.
 */
export const PROTOCOL_VERSION = 15;
