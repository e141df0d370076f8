/**
 * Serves a model's files to web-llm from the weight store.
 *
 * @remarks
 * - Relies on: web-llm reads all files by `caches.open('webllm/…')`. Its other backends (IndexedDB, OPFS) are its own copies.
 * - Read in: @mlc-ai/web-llm 0.2.86, `lib/cache_util.d.ts`.
 * - Notices: base URLs are of the host `weights.invalid`, which no network resolves.
 * - Then: the load fails. Nothing is downloaded from elsewhere.
 */
/** Reads one file of a model by its name inside the model's folder. */
export type ReadArtifact = (name: string) => Promise<Blob>;

const ORIGIN = 'https://weights.invalid';
const folders = new Map<string, ReadArtifact>();
let count = 0;

/**
 * Makes a model's files readable for web-llm under a made-up base URL, without a request and without a second copy:
 * it reads whatever it needs by `caches.open('webllm/…')`, and those caches are answered here.
 * The URL has `/resolve/` in it, else web-llm would append `resolve/main/`.
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
  // A name such as `../../x` in the model's own list of shards ends up here.
  throw new Error(`The model asks for a file outside of its folder: ${url.pathname}`);
}

/** The part of a Cache that web-llm uses. It is read-only. */
const artifactCache: Pick<Cache, 'match' | 'add' | 'keys' | 'delete'> = {
  match: answer,
  /** Downloads a shard. web-llm calls it for every shard, four at a time. */
  add: async (request) => void (await answer(request)),
  /** Reports no files: web-llm then asks for each before it loads the first. */
  keys: async () => [],
  delete: async () => false,
};

let installed = false;
const isOurs = (name: string): boolean => name.startsWith('webllm/');

/** Shadows `caches` for names that start with `webllm/`; all others go to the browser's own, where there is one. */
function installCaches(): void {
  if (installed) return;
  installed = true;
  const own: CacheStorage | undefined = 'caches' in globalThis ? globalThis.caches : undefined;
  const browser = (): CacheStorage => {
    if (own) return own;
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
