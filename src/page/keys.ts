import type { KeyAdministrator } from '../keys/key-administrator.ts';

/** The administrator's side of the keys, whose code is fetched when first used. */
export type Keys = Pick<KeyAdministrator, 'issue' | 'ensure' | 'list' | 'rotate' | 'revoke'>;

let loading: Promise<KeyAdministrator> | null = null;

function administrator(): Promise<KeyAdministrator> {
  loading ??= import('../keys/key-administrator.ts').then((module) => new module.KeyAdministrator());
  return loading;
}

export const keys: Keys = {
  issue: async (...parameters) => (await administrator()).issue(...parameters),
  ensure: async (...parameters) => (await administrator()).ensure(...parameters),
  list: async (...parameters) => (await administrator()).list(...parameters),
  rotate: async (...parameters) => (await administrator()).rotate(...parameters),
  revoke: async (...parameters) => (await administrator()).revoke(...parameters),
};
