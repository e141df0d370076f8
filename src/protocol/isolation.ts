/** Name of the query parameter of the service worker's script that names an isolated path. */
const PARAMETER = 'isolation';

/**
 * Adds the paths that the service worker isolates to the URL of its script: it then knows them without
 * reading anything, and only the site itself can change them, by registering another URL.
 * @throws TypeError when `paths` is no list of this site's paths
 */
export function addIsolation(script: URL, paths: readonly string[]): void {
  if (!Array.isArray(paths) || !paths.every((path) => isOwnPath(path, script))) {
    throw new TypeError(
      `isolation must be a list of paths of ${script.origin}, such as ['/app/'] or ['./']; not ${JSON.stringify(paths)}.`,
    );
  }
  for (const path of paths) script.searchParams.append(PARAMETER, path);
}

const isOwnPath = (path: unknown, script: URL): boolean =>
  typeof path === 'string' &&
  URL.canParse(path, script.href) &&
  new URL(path, script.href).origin === script.origin;

/** Whether the service worker with this script isolates the page at `url`. */
export function isolates(script: string, url: string): boolean {
  const { searchParams } = new URL(script);
  const { pathname } = new URL(url);
  return searchParams.getAll(PARAMETER).some((path) => {
    const named = new URL(path, script).pathname;
    return named.endsWith('/') ? pathname.startsWith(named) : pathname === named;
  });
}
