import { createSHA256 } from 'hash-wasm';
import { z } from '#base/full-zod';

import {
  rulesOf,
  byteCount,
  commitHash,
  sha256Hex,
  weightPath,
  type HubSource,
  type RemoteFile,
  type Variant,
  type WeightFile,
} from '#catalog';
import {
  requestError,
  serverError,
  ServiceError,
  IdleTimeout,
  IdleTimeoutError,
  isTransient,
  printable,
  reach,
  TransientStatusError,
  UNREACHABLE,
  UnreachableError,
  withRetries,
} from '#base';
import { ENCODERS } from '#gguf';
import { answered } from '../download/download-errors.ts';

/** Explanation for a gated model. A page has no account on the hub to accept terms with. */
export const GATED =
  "its authors ask for consent before they give it out. Accept their terms on the model's page of the hub, download the file there, and add it from this device";

export const DEFAULT_HUB = 'https://huggingface.co';

/** Maximum size of a file without a SHA-256 on the hub. Only small files lack one; they are downloaded to be hashed. */
const MAX_UNHASHED_BYTES = 64 * 2 ** 20;

/** Maximum number of pages, of a thousand files each. */
const MAX_PAGES = 20;
const MAX_FILES_OF_PAGE = 10_000;
/** Maximum size of a page. A thousand files take about 300 KB. */
const MAX_PAGE_BYTES = 8 * 2 ** 20;

/** Schema of a page of files. The array's length is bounded first, as Zod collects the issues of all elements. */
const treeSchema = z
  .array(z.unknown())
  .max(MAX_FILES_OF_PAGE)
  .pipe(
    z.array(
      z.object({
        type: z.string(),
        path: z.string().max(4096),
        size: z.int().nonnegative(),
        lfs: z.object({ oid: sha256Hex, size: byteCount }).optional(),
      }),
    ),
  );

/** The hub's facts about a repository. `gated` is false, or says how access is granted. */
const infoSchema = z.object({
  sha: commitHash,
  gated: z.unknown().optional(),
  pipeline_tag: z.unknown().optional(),
  gguf: z.object({ architecture: z.unknown() }).optional().catch(undefined),
});

/** The hub's tasks of embedding models. */
const EMBEDDING_TASKS: ReadonlySet<unknown> = new Set(['feature-extraction', 'sentence-similarity']);

const isEmbedding = ({ pipeline_tag: task, gguf }: z.output<typeof infoSchema>): boolean =>
  EMBEDDING_TASKS.has(task) || ENCODERS.has(String(gguf?.architecture));

/** Whether a revision is a commit, which is immutable, unlike a branch or a tag. */
export const isCommit = (revision: string): boolean => commitHash.safeParse(revision).success;

/** A query for a repository's files. */
export interface HubQuery {
  /** Name of the model, for error messages. */
  name: string;
  repository: string;
  revision: string;
  endpoint: string;
  signal: AbortSignal;
}

/**
 * Resolves a revision to a commit. A branch moves, so it is resolved once: all files are then from one commit, and
 * a resumed download finds the same bytes.
 */
export const commitOf = async (query: HubQuery): Promise<string> => (await readRevision(query)).revision;

type Revision = Pick<Repository, 'revision' | 'isEmbedding'>;

async function readRevision({ name, repository, revision, endpoint, signal }: HubQuery): Promise<Revision> {
  if (isCommit(revision)) return { revision, isEmbedding: false };
  const url = `${endpoint}/api/models/${repository}/revision/${revision}`;
  const { data: info } = infoSchema.safeParse((await getJson(url, signal)).json);
  if (info?.gated) throw unavailable(name, GATED);
  if (info) return { revision: info.sha, isEmbedding: isEmbedding(info) };
  throw unavailable(name, `the model hub names no commit for ${revision} of ${repository}`);
}

/** Lists all files of a repository. */
async function readTree(query: HubQuery): Promise<z.output<typeof treeSchema>> {
  const { name, repository, revision, endpoint, signal } = query;
  const first = `${endpoint}/api/models/${repository}/tree/${revision}`;
  const tree: z.output<typeof treeSchema> = [];
  let url: string | null = `${first}?recursive=true`;
  for (let page = 0; url !== null && page < MAX_PAGES; page++) {
    const { json, next } = await getJson(url, signal);
    const { data } = treeSchema.safeParse(json);
    if (!data) throw unavailable(name, 'the model hub did not answer with a list of files');
    tree.push(...data);
    // Keep the first host, as a mirror's `next` link may point to the hub's own host.
    if (next !== null && !URL.canParse(next, first))
      throw unavailable(name, 'the `Link` header of the model hub, or of its mirror, is malformed');
    url = next === null ? null : first + new URL(next, first).search;
  }
  if (url !== null)
    throw unavailable(name, `the model hub lists more than ${MAX_PAGES} pages of files for ${repository}`);
  const files = tree.filter(({ type }) => type === 'file');
  // A mirror may list a file more than once.
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

const REPOSITORY = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;
/** A branch, a tag or a commit. */
const REVISION = /^[\w.-]{1,100}$/;

export interface RepositoryRef {
  /** `owner/name`. */
  repository: string;
  /** Branch, tag or commit. Null is `main`. */
  revision: string | null;
}

export interface Repository {
  /** Commit that the requested revision resolves to. */
  revision: string;
  /** Whether the hub lists it as an embedding model. Always false if the revision is a commit, for which it is not asked. */
  isEmbedding: boolean;
  files: RemoteFile[];
}

/** Lists a repository's files whose hash the hub names: all large ones. @throws ServiceError */
export async function readRepository(
  { repository, revision: requested }: RepositoryRef,
  endpoint: string,
  signal: AbortSignal,
): Promise<Repository> {
  const refuse = (what: string) => requestError(400, what, 'invalid_value', 'source');
  if (!REPOSITORY.test(repository) || repository.includes('..'))
    throw refuse(`${JSON.stringify(repository)} is not a repository. Use owner/name.`);
  if (requested !== null && !REVISION.test(requested))
    throw refuse(`${JSON.stringify(requested)} is not a revision.`);
  const query = { name: repository, repository, revision: requested ?? 'main', endpoint, signal };
  const resolved = await readRevision(query);
  const { revision } = resolved;
  const tree = await readTree({ ...query, revision });
  const isName = (path: string): boolean => path === printable(path) && !/(^|\/)\.{1,2}(\/|$)/.test(path);
  const present = tree.filter(({ path, size }) => size > 0 && isName(path));
  const files = present.flatMap(({ path, lfs }): RemoteFile | [] => {
    const url = `${endpoint}/${repository}/resolve/${revision}/${path.split('/').map(encodeURIComponent).join('/')}`;
    return lfs ? { name: path, url, bytes: lfs.size, sha256: lfs.oid } : [];
  });
  return { ...resolved, files };
}

/** Lists a variant's files on the hub, with sizes, hashes and URLs. */
export async function listHubFiles(
  variant: Variant,
  hub: HubSource,
  endpoint: string,
  signal: AbortSignal,
): Promise<WeightFile[]> {
  const { repository, folder } = hub;
  const { hubFiles, otherFile } = rulesOf(variant) ?? {};
  const query = { name: variant.name, repository, revision: hub.revision, endpoint, signal };
  const revision = await commitOf(query);
  const isNeeded = (path: string): boolean =>
    hub.files?.includes(path) ?? hubFiles?.names.test(path) ?? false;
  const tree = await readTree({ ...query, revision });
  const entries = tree.filter(({ path }) => isNeeded(path));
  const missing = hub.files?.find((path) => !entries.some((entry) => entry.path === path));
  if (missing !== undefined || entries.length === 0) {
    const what = missing ?? hubFiles?.noun ?? 'model';
    throw unavailable(variant.name, `${repository} has no ${what} at ${revision}`);
  }
  const files = entries.map(async ({ path, size, lfs }): Promise<WeightFile> => {
    const url = `${endpoint}/${repository}/resolve/${revision}/${path}`;
    const known = lfs ? { bytes: lfs.size, sha256: lfs.oid } : await hashed(url, signal, size);
    const file = { path: weightPath.parse(`${folder}/${path}`), url, ...known };
    if (!notPinned(hub, [file])) return file;
    const why = `${path} of ${repository} is not the file whose SHA-256 the catalog names`;
    throw unavailable(variant.name, why);
  });
  const { path = '', url } = otherFile?.(variant) ?? {};
  const other = url === undefined ? [] : [hashed(url, signal).then((known) => ({ path, url, ...known }))];
  return Promise.all([...files, ...other]);
}

/** Finds the first file whose hash differs from the catalog's pin. */
export function notPinned(hub: HubSource | undefined, files: readonly WeightFile[]): WeightFile | undefined {
  const { folder, sha256: pins = {} } = hub ?? {};
  const hashes = new Map(Object.entries(pins).map(([name, hash]) => [`${folder}/${name}`, hash]));
  return files.find(({ path, sha256 }) => (hashes.get(path) ?? sha256) !== sha256);
}

/**
 * Downloads a small file to compute its size and hash.
 * @param size size that the hub lists, checked so that the hash of an error page is not recorded
 */
const hashed = (url: string, signal: AbortSignal, size?: number) =>
  reading(url, signal, async (timeout) => {
    const hasher = (await createSHA256()).init();
    let bytes = 0;
    for await (const part of timeout.body(await fetchOk(url, timeout))) {
      hasher.update(part);
      bytes += part.length;
      if (bytes > MAX_UNHASHED_BYTES)
        throw failed(`${url} is too large to download without a hash. Pin its SHA-256 in the catalog.`);
    }
    if (size !== undefined && bytes !== size)
      throw failed(
        `${url} has ${bytes} bytes, and the model hub lists ${size}. A network that requires a sign-in may answer so. Try again.`,
      );
    return { bytes, sha256: hasher.digest('hex') };
  });

/** Fetches JSON. `next` is the URL of the next page; null for the last page. */
const getJson = (url: string, signal: AbortSignal): Promise<{ json: unknown; next: string | null }> =>
  reading(url, signal, async (timeout) => {
    const response = await fetchOk(url, timeout);
    const [, next = null] = /<([^<>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
    return { json: await readJson(response, timeout), next };
  });

/**
 * Reads from the hub or another server, again if the connection breaks.
 * @param receivedBytes bytes that attempts have received, if the next one continues after them
 * @param advice what to do if the server cannot be read
 * @throws ServiceError; the signal's reason
 */
export async function reading<T>(
  url: string,
  signal: AbortSignal,
  read: (timeout: IdleTimeout) => Promise<T>,
  {
    receivedBytes = () => 0,
    advice = '. Check the connection, and try again',
  }: { receivedBytes?: () => number; advice?: string } = {},
): Promise<T> {
  try {
    const isFinal = (error: unknown): boolean =>
      error instanceof ServiceError ||
      (receivedBytes() === 0 && (error instanceof UnreachableError || error instanceof IdleTimeoutError));
    const attempt = (): Promise<T> => read(new IdleTimeout(signal));
    return await withRetries(attempt, { signal, isFinal, arrivedBytes: receivedBytes });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServiceError) throw error;
    const isKnown = error instanceof IdleTimeoutError || error instanceof TransientStatusError;
    throw unreadable(url, (isKnown ? error.message : UNREACHABLE) + advice, error);
  }
}

export const unreadable = (url: string, why: string, cause?: unknown): ServiceError =>
  failed(`${url} could not be read: ${why}.`, cause);

async function readJson(response: Response, timeout: IdleTimeout): Promise<unknown> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  for await (const part of timeout.body(response)) {
    bytes += part.length;
    if (bytes > MAX_PAGE_BYTES)
      throw failed(`The model hub answered with more than ${MAX_PAGE_BYTES} bytes.`);
    parts.push(decoder.decode(part, { stream: true }));
  }
  try {
    return JSON.parse(parts.join(''));
  } catch {
    throw failed('The model hub did not answer with JSON.');
  }
}

/** Statuses that may hide why a file is not available: the hub also answers 401 for a repository that does not exist. */
const HIDDEN = new Set([401, 403, 404]);
/** Causes of a refusal by the hub's error header. */
const CAUSES = new Map([
  ['GatedRepo', `The model is gated: ${GATED}.`],
  ['RevisionNotFound', 'The repository has no such branch, tag or commit.'],
  ['EntryNotFound', 'The repository has no such file.'],
]);
const UNKNOWN_CAUSE =
  'There is no such repository or file, or it is private, or its terms must be accepted first. Check the name for typing errors.';

async function fetchOk(url: string, timeout: IdleTimeout): Promise<Response> {
  const response = await timeout.during(reach(url, { signal: timeout.signal }));
  const { ok, status, headers, body } = response;
  if (ok) return response;
  await body?.cancel();
  if (isTransient(status)) throw new TransientStatusError(response);
  const cause = CAUSES.get(headers.get('x-error-code') ?? '') ?? UNKNOWN_CAUSE;
  const why = HIDDEN.has(status) ? ` ${cause}` : '';
  throw failed(`The model hub did not deliver ${new URL(url).pathname}: ${answered(status)}.${why}`);
}

const unavailable = (name: string, why: string): ServiceError =>
  failed(`The weights of ${name} cannot be downloaded: ${why}.`);

const failed = (message: string, cause?: unknown): ServiceError =>
  serverError('weights_unavailable', message, cause);
