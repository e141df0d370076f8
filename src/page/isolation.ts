import type { StartOptions } from './start-options.ts';

const TRIED = 'localtext:reloaded-for-isolation';

/** Reloads at most once a tab, and only where the site has asked for it. */
export function reloadForIsolation({ isolation }: StartOptions): void {
  if (isolation !== 'reload' || crossOriginIsolated || sessionStorage.getItem(TRIED)) return;
  sessionStorage.setItem(TRIED, '1');
  location.reload();
}
