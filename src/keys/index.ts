export type { IssueOptions, IssuedKey, KeyAdministrator, KeyInfo } from './key-administrator.ts';
export { createKeyStore } from './key-store.ts';
