import { loadChunk } from './load-chunk.ts';
import { siteScope } from './site.ts';
import { withStorage } from './requirements.ts';
import type { KeyAdministrator } from '#keys';

/**
 * The administrator's side of the keys, whose code is fetched when first used. Every call throws
 * LocaltextError `storage_full` or `storage_unavailable` if the browser cannot save, and a plain Error for a
 * wrong argument.
 */
export type Keys = Pick<KeyAdministrator, 'issue' | 'ensure' | 'list' | 'rotate' | 'revoke'>;

/** Keys of the app of this scope. */
export function keysOf(scope: () => string): Keys {
  const ask = async <T>(question: (administrator: KeyAdministrator) => Promise<T>): Promise<T> => {
    const { KeyAdministrator: Administrator } = await loadChunk(import('#keys/administrator'));
    return withStorage(() => question(new Administrator(scope(), navigator.locks)));
  };
  return {
    issue: (...parameters) => ask((administrator) => administrator.issue(...parameters)),
    ensure: (...parameters) => ask((administrator) => administrator.ensure(...parameters)),
    list: (...parameters) => ask((administrator) => administrator.list(...parameters)),
    rotate: (...parameters) => ask((administrator) => administrator.rotate(...parameters)),
    revoke: (...parameters) => ask((administrator) => administrator.revoke(...parameters)),
  };
}

/** Keys of the app at the site's base, for `createFetch()`. */
export const keys: Keys = keysOf(siteScope);
