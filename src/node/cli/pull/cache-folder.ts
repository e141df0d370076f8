import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** The user's own cache, in which weights outlive a clone. `LOCALTEXT_CACHE` overrides it. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  if (env['LOCALTEXT_CACHE']) return resolve(env['LOCALTEXT_CACHE']);
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'localtext', 'Cache');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'localtext');
  return resolve(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'localtext');
}
