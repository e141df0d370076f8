/**
 * Serves a model's files to web-llm from the weight store.
 * @remarks
 * - Relies on: web-llm reads all files through `caches.open('webllm/…')`. Its other backends
 *   (IndexedDB, OPFS) are not used.
 * - Read in: @mlc-ai/web-llm 0.2.86, `lib/cache_util.d.ts`.
 * - Notices: base URLs have the host `weights.invalid`, which no network resolves.
 * - Then: the load fails. Nothing is downloaded from elsewhere.
 */
/** Reads one file of a model by its name inside the model's folder. */
export type ReadArtifact = (name: string) => Promise<Blob>;

const ORIGIN = 'https://weights.invalid';
const folders = new Map<string, ReadArtifact>();
let count = 0;

/**
 * Serves a model's files to web-llm under an invented base URL, without a request or a second copy: web-llm
 * reads them through `caches.open('webllm/…')`, which is answered here. The URL contains `/resolve/`, or
 * web-llm would append `resolve/main/`.
 */
export function serveArtifacts(read: ReadArtifact): { baseUrl: string; close(): void } {
  installCaches();
  const baseUrl = `${ORIGIN}/${++count}/resolve/main/`;
  folders.set(baseUrl, read);
  return { baseUrl, close: () => folders.delete(baseUrl) };
}

async function answer(request: RequestInfo | URL): Promise<Response> {
  const url = new URL(request instanceof Request ? request.url : request);
  for (const [baseUrl, read] of folders) {
    if (url.href.startsWith(baseUrl))
      return new Response(await read(decodeURIComponent(url.href.slice(baseUrl.length))));
  }
  // Reached by a name such as `../../x` in the model's list of shards.
  throw new Error(`The model asks for a file outside of its folder: ${url.pathname}`);
}

/** The methods of Cache that web-llm uses, read-only. */
const artifactCache: Pick<Cache, 'match' | 'add' | 'keys' | 'delete'> = {
  match: answer,
  /** Loads a shard into the store. web-llm calls it for every shard, four at a time. */
  add: async (request) => void (await answer(request)),
  /** Lists no files, so that web-llm adds each file before it loads the first. */
  keys: async () => [],
  delete: async () => false,
};

let installed = false;
const isOurs = (name: string): boolean => name.startsWith('webllm/');

/** Shadows `caches` for names that start with `webllm/`. Other names go to the browser's caches, if it has any. */
function installCaches(): void {
  if (installed) return;
  installed = true;
  const original: CacheStorage | undefined = 'caches' in globalThis ? globalThis.caches : undefined;
  const browser = (): CacheStorage => {
    if (original) return original;
    throw new DOMException('This browser has no Cache API here', 'NotSupportedError');
  };
  const artifacts = artifactCache as Partial<Cache> as Cache;
  const storage: CacheStorage = {
    open: async (name) => (isOurs(name) ? artifacts : browser().open(name)),
    has: async (name) => isOurs(name) || browser().has(name),
    delete: async (name) => !isOurs(name) && browser().delete(name),
    keys: async () => browser().keys(),
    match: async (request, options) => browser().match(request, options),
  };
  Object.defineProperty(globalThis, 'caches', { configurable: true, enumerable: true, value: storage });
}
