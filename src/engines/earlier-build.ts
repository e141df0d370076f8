/** Lists localtext's files of the build that the server has. The Vite plugin and `localtext init` write it beside the service worker. */
const LIST = '../../localtext-sw-files.js';

/** Whether the server, which did not answer with this file of an engine, has a build without it. */
export async function isOfEarlierBuild(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL(LIST, url), { cache: 'no-store' });
    const list = await response.text();
    const isList = list.startsWith('self.') && list.includes('localtext/wasm/');
    return response.ok && isList && !list.includes(new URL(url).pathname.split('/').at(-1) ?? '');
  } catch {
    return false;
  }
}
