import { siteScope } from './site.ts';
import type { KeyAdministrator } from '../keys/key-administrator.ts';

/** The administrator's side of the keys, whose code is fetched when first used. */
export type Keys = Pick<KeyAdministrator, 'issue' | 'ensure' | 'list' | 'rotate' | 'revoke'>;

/** Those of the app of this scope. */
export function keysOf(scope: () => string): Keys {
  let loading: Promise<KeyAdministrator> | null = null;
  const administrator = (): Promise<KeyAdministrator> =>
    (loading ??= import('../keys/key-administrator.ts').then(
      (module) => new module.KeyAdministrator(scope()),
    ));
  return {
    issue: async (...parameters) => (await administrator()).issue(...parameters),
    ensure: async (...parameters) => (await administrator()).ensure(...parameters),
    list: async (...parameters) => (await administrator()).list(...parameters),
    rotate: async (...parameters) => (await administrator()).rotate(...parameters),
    revoke: async (...parameters) => (await administrator()).revoke(...parameters),
  };
}

/** For `createFetch()`: those of the app at the site's base. */
export const keys: Keys = keysOf(siteScope);
