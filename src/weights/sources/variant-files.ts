import {
  weightBytes,
  rulesOf,
  MANIFEST,
  manifestSchema,
  weightFile,
  type HubSource,
  type Variant,
  type WeightFile,
  type Manifest,
} from '#catalog';
import { requestError, serverError, withTimeout } from '#base';
import type { SourceOptions } from '#protocol';
import { z } from '#base/full-zod';
import { parseStored } from '../backends/storage-backend.ts';
import { unlessFull } from '../download/download-errors.ts';
import type { WeightStore } from '../weight-store.ts';
import {
  DEFAULT_HUB,
  listHubFiles,
  notPinned,
  readRepository,
  type Repository,
  type RepositoryRef,
} from './hub-source.ts';

/** Time after which the hub counts as unreachable, until it answers. */
const PROBE_TIMEOUT_MS = 1500;
const PROBE_ENDS_MS = 10_000;
const PROBE_HOLDS_MS = 60_000;
const MANIFEST_TIMEOUT_MS = 3000;

const listSchema = z.array(weightFile.extend({ url: z.url().exactOptional() }));

/** Finds the files of a variant: in the catalog, the site's manifest, an imported description, or the model hub. */
export class VariantFiles {
  readonly #store: () => Promise<WeightStore>;
  readonly #modelsUrl: string;
  readonly #hub: string | null;
  /** The site's manifest, cached for this worker's lifetime. A failed request is retried after a while. */
  readonly #manifest = cachedAnswer(() => this.#readManifest(), {
    holdMs: Number.POSITIVE_INFINITY,
    withinMs: MANIFEST_TIMEOUT_MS,
  });
  readonly #probe = cachedAnswer(() => this.#askHub(), {
    holdMs: PROBE_HOLDS_MS,
    withinMs: PROBE_TIMEOUT_MS,
  });

  constructor(store: () => Promise<WeightStore>, modelsUrl: string, { hub = false }: SourceOptions = {}) {
    this.#store = store;
    this.#modelsUrl = modelsUrl;
    this.#hub = hub === true ? DEFAULT_HUB : hub === false ? null : hub.replace(/\/+$/, '');
  }

  /** Why a variant's weights cannot be fetched, as a phrase that follows its name; undefined if no reason is known. */
  async fault(variant: Variant): Promise<string | undefined> {
    if (await this.files(variant)) return undefined;
    if (this.#hub === null) return 'its weights are not on this site, which does not use the model hub';
    if (await this.#probe.get()) return undefined;
    return 'its weights are not on this site, and the model hub is out of reach';
  }

  /** Lets the next call ask the site and the hub again if they did not answer. */
  dropFailures(): void {
    this.#manifest.dropFailure();
    this.#probe.dropFailure();
  }

  /** Lists the variant's files from the catalog, the manifest or a note; null if only the hub knows them. */
  async files(variant: Variant): Promise<WeightFile[] | null> {
    if (!variant.hub) return variant.files;
    return (await this.#fromManifest(variant)) ?? this.#fromNote(variant);
  }

  /**
   * Stores the file list of an imported description, for a variant that neither the site nor the hub describes.
   * @throws ServiceError 400 for a path that does not belong to the variant, or a hash that
   *   differs from the catalog's pin
   */
  async keepFiles(variant: Variant, files: WeightFile[]): Promise<void> {
    const stray = files.find(({ path }) => !belongsTo(variant, path));
    if (stray) {
      const message = `${stray.path} is not a file of ${variant.name}. Its files are in ${variant.hub?.folder ?? ''}/.`;
      throw requestError(400, message, 'invalid_description', 'import');
    }
    const changed = notPinned(variant.hub, files);
    if (changed) {
      const message = `${changed.path} is not the file whose SHA-256 the catalog names.`;
      throw requestError(400, message, 'weights_conflict', 'import');
    }
    await this.#note(variant, files);
  }

  /** Lists the files of a repository on the model hub. @throws ServiceError */
  async repository(source: RepositoryRef, signal: AbortSignal): Promise<Repository> {
    if (this.#hub !== null) return readRepository(source, this.#hub, signal);
    const message = 'This site does not use the model hub. Allow it by start({ sources: { hub: true } }).';
    throw serverError('weights_unavailable', message);
  }

  /** Deletes the stored list of a variant's files from the hub or a description. */
  async forget(variant: Variant): Promise<void> {
    await (await this.#store()).notes.dropNote(noteName(variant));
  }

  /** Number of bytes that a load would download, without asking the network. */
  async missingBytes(variant: Variant): Promise<number> {
    const files = await this.#knownFiles(variant);
    if (!files) return weightBytes(variant);
    const store = await this.#store();
    return weightBytes({ files }) - (await store.storedBytes(files));
  }

  /** Storage that the variant's weights still need, and free storage (null if unknown), in bytes. */
  async room(variant: Variant): Promise<{ needed: number; free: number | null }> {
    const files = await this.#knownFiles(variant);
    const store = await this.#store();
    return files ? store.room(files) : { needed: weightBytes(variant), free: await store.backend.free() };
  }

  /** Exact size of the variant's weights; null if only the hub knows it. */
  async exactBytes(variant: Variant): Promise<number | null> {
    const files = await this.#knownFiles(variant);
    return files && weightBytes({ files });
  }

  /** Completes a variant's file list. The list is stored, so that later loads do not need the hub. */
  async resolve<V extends Variant>(variant: V, signal: AbortSignal): Promise<V> {
    const { hub } = variant;
    if (!hub) return variant;
    const files = (await this.files(variant)) ?? (await this.#fromHub(variant, hub, signal));
    await unlessFull(this.#note(variant, files));
    const projector = `${hub.folder}/${hub.projector}`;
    const roles = files.map((file) =>
      file.path === projector ? { ...file, role: 'projector' as const } : file,
    );
    return { ...variant, files: roles };
  }

  async #knownFiles(variant: Variant): Promise<WeightFile[] | null> {
    return variant.hub ? this.#fromNote(variant) : variant.files;
  }

  async #fromHub(variant: Variant, hub: HubSource, signal: AbortSignal): Promise<WeightFile[]> {
    if (this.#hub !== null) return listHubFiles(variant, hub, this.#hub, signal);
    const message = `The weights of ${variant.name} are not on this site. Download them with npx localtext pull ${variant.name}, or allow the model hub.`;
    throw serverError('weights_unavailable', message);
  }

  async #fromManifest(variant: Variant): Promise<WeightFile[] | null> {
    const manifest = await this.#manifest.get();
    const { hub } = variant;
    if (!manifest || !hub) return null;
    const inFolder = Object.keys(manifest.files).filter((path) => path.startsWith(`${hub.folder}/`));
    if (inFolder.length === 0) return null;
    const paths = new Set(hub.files?.map((name) => `${hub.folder}/${name}`) ?? inFolder);
    const other = rulesOf(variant)?.otherFile?.(variant);
    if (other) paths.add(other.path);
    const files: WeightFile[] = [];
    for (const path of paths) {
      const file = manifest.files[path];
      if (!file) return null;
      files.push({ path, ...file });
    }
    return notPinned(hub, files) ? null : files;
  }

  async #readManifest(): Promise<Manifest | null> {
    try {
      const signal = AbortSignal.timeout(MANIFEST_TIMEOUT_MS);
      const response = await fetch(new URL(MANIFEST, this.#modelsUrl), { signal });
      return response.ok ? manifestSchema.parse(await response.json()) : null;
    } catch (error) {
      if (error instanceof z.ZodError) {
        const [issue] = error.issues;
        console.error(`localtext: invalid ${MANIFEST} ignored: ${issue?.path.join('.')}: ${issue?.message}`);
      }
      return null;
    }
  }

  async #note(variant: Variant, files: WeightFile[]): Promise<void> {
    await (await this.#store()).notes.keepNote(noteName(variant), JSON.stringify(files));
  }

  async #fromNote(variant: Variant): Promise<WeightFile[] | null> {
    const note = await (await this.#store()).notes.note(noteName(variant));
    const files = parseStored(note, listSchema);
    return files && !notPinned(variant.hub, files) ? files : null;
  }

  async #askHub(): Promise<true | null> {
    const signal = AbortSignal.timeout(PROBE_ENDS_MS);
    const response = await fetch(`${this.#hub}/api/models?limit=1`, { signal }).catch(() => null);
    return response?.ok || null;
  }
}

function belongsTo(variant: Variant, path: string): boolean {
  const { hub } = variant;
  if (!hub) return false;
  if (path === rulesOf(variant)?.otherFile?.(variant).path) return true;
  return hub.files
    ? hub.files.some((name) => path === `${hub.folder}/${name}`)
    : path.startsWith(`${hub.folder}/`);
}

const noteName = ({ name, hub }: Variant): string =>
  `hub-${name.replaceAll(/[^\w.-]/g, '_')}-${hub?.revision ?? ''}.json`;

/** How long a failure is cached if nobody asks again, in milliseconds. */
const FAILURE_HOLDS_MS = 60_000;

/**
 * Caches a server's answer for a time. Null stands for a failure.
 * @param ask requests the answer; never rejects
 * @param times `holdMs`: how long an answer is cached; `withinMs`: time limit of `get()`, after which the request
 *   counts as failed, but a later answer is used by the next call
 */
function cachedAnswer<T>(
  ask: () => Promise<T | null>,
  { holdMs, withinMs }: { holdMs: number; withinMs: number },
) {
  /** `failed` is null before the answer. */
  let last: { at: number; answer: Promise<T | null>; failed: boolean | null } | null = null;

  function begin(at: number) {
    const request = { at, answer: ask(), failed: null as boolean | null };
    last = request;
    void request.answer.then((answer) => (request.failed = answer === null));
    return request;
  }

  return {
    async get(): Promise<T | null> {
      const now = performance.now();
      const held = last && now - last.at <= (last.failed ? FAILURE_HOLDS_MS : holdMs) ? last : begin(now);
      const { at, answer } = held;
      return withTimeout(answer, at + withinMs - now);
    },
    /** Drops a cached failure, and a request that is too late, so that the next call asks again. */
    dropFailure(): void {
      if (last && (last.failed ?? performance.now() - last.at >= withinMs)) last = null;
    },
  };
}
