export type { IssueOptions, IssuedKey, KeyAdministrator, KeyInfo } from './key-administrator.ts';
export { KeyCache } from './key-cache.ts';
export { createKeyStore } from './key-store.ts';
