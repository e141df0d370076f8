import { z } from 'zod';
import type { Variant, WeightFile } from '../../catalog/catalog.ts';
import { MANIFEST, manifestSchema, type Manifest } from '../../catalog/manifest.ts';
import { byteCount, sha256Hex, weightPath } from '../../catalog/weight-path.ts';
import type { SourceOptions } from '../../protocol/worker-control.ts';
import { badRequest, EngineError } from '../../protocol/engine-error.ts';
import { libraryPath } from './mlc-paths.ts';
import { DEFAULT_HUB, describeLibrary, listHubFiles } from './hub-source.ts';
import type { WeightStore } from '../weight-store.ts';

/** A hub that has not answered by then is taken for out of reach. */
const PROBE_MS = 1500;
const MANIFEST_MS = 3000;
/** An answer about the hub holds for this long. */
const PROBE_HOLDS_MS = 60_000;

const listSchema = z.array(
  z.object({ path: weightPath, bytes: byteCount, sha256: sha256Hex, url: z.url().optional() }),
);

/** Where the files of a variant come from: named by the catalog, by the site's manifest, or by the model hub. */
export class WeightSources {
  readonly #store: Promise<WeightStore>;
  readonly #modelsUrl: string;
  readonly #hub: string | null;
  #manifest: Promise<Manifest | null> | null = null;
  #probe: { at: number; reachable: Promise<boolean> } | null = null;

  constructor(store: Promise<WeightStore>, modelsUrl: string, { hub = false }: SourceOptions = {}) {
    this.#store = store;
    this.#modelsUrl = modelsUrl;
    this.#hub = hub === true ? DEFAULT_HUB : hub === false ? null : hub.replace(/\/+$/, '');
  }

  /** Why a variant's weights cannot be fetched, as a phrase that follows its name; undefined: they can, as far as is known. */
  async fault(variant: Variant): Promise<string | undefined> {
    const { hub } = variant;
    if (!hub || (await this.#known(variant))) return undefined;
    if (this.#hub === null) return 'its weights are not on this site, which does not use the model hub';
    if (!(await this.#reachable()))
      return 'its weights are not on this site, and the model hub is out of reach';
    return undefined;
  }

  /** The variant's files, as far as they are known without the hub; null: they are not. */
  async files(variant: Variant): Promise<WeightFile[] | null> {
    return variant.hub ? this.#known(variant) : variant.files;
  }

  /**
   * Keeps what an imported description says of a variant, for machines where neither site nor hub tell.
   * @throws EngineError 400 for a file that is no part of the variant: its path may be another variant's
   */
  async keepFiles(variant: Variant, files: WeightFile[]): Promise<void> {
    const stray = files.find(({ path }) => !belongsTo(variant, path));
    if (stray) {
      const folder = variant.hub?.folder ?? '';
      const message = `${stray.path} is no file of ${variant.name}. Its files lie below ${folder}/.`;
      throw badRequest(message, 'import', 'invalid_description');
    }
    await this.#note(variant, files);
  }

  /** Drops what the hub or a description said of a variant; the catalog and the manifest stay. */
  async forget(variant: Variant): Promise<void> {
    await (await this.#store).dropNote(noteName(variant));
  }

  /** Whether a load would need no network, as far as a look at the store tells. */
  async stored(variant: Variant): Promise<boolean> {
    const files = variant.hub ? await this.#fromNote(variant) : variant.files;
    return !!files && files.length > 0 && (await (await this.#store).missing(files)).length === 0;
  }

  /**
   * The variant with all its files, each with size and hash. What the hub said is kept, so that it need not be asked
   * again, and loads go on when it is gone.
   */
  async resolve<V extends Variant>(variant: V, signal: AbortSignal): Promise<V> {
    const { hub } = variant;
    if (!hub) return variant;
    const known = await this.#known(variant);
    if (known) return this.#tryNote(variant, known);
    if (this.#hub === null) {
      const message = `The weights of ${variant.name} are not on this site. Download them with localtext pull, or allow the model hub.`;
      throw new EngineError({ code: 'weights_unavailable', message });
    }
    const files = await listHubFiles(variant, hub, this.#hub, signal);
    if (variant.engine === 'web-llm' && URL.canParse(variant.library)) {
      files.push(await describeLibrary(libraryPath(variant), variant.library, signal));
    }
    return this.#tryNote(variant, files);
  }

  /** Without room for the note the load goes on: whether the weights fit is found out by their own writes. */
  async #tryNote<V extends Variant>(variant: V, files: WeightFile[]): Promise<V> {
    await this.#note(variant, files).catch((error: unknown) => {
      if (!(error instanceof EngineError && error.code === 'storage_full')) throw error;
    });
    return { ...variant, files };
  }

  async #note(variant: Variant, files: WeightFile[]): Promise<void> {
    await (await this.#store).keepNote(noteName(variant), JSON.stringify(files));
  }

  /** Without asking the hub: from the site's manifest, or from what the hub said before. */
  async #known(variant: Variant): Promise<WeightFile[] | null> {
    return (await this.#fromManifest(variant)) ?? (await this.#fromNote(variant));
  }

  async #fromManifest(variant: Variant): Promise<WeightFile[] | null> {
    const manifest = await (this.#manifest ??= this.#readManifest());
    const { hub } = variant;
    if (!manifest || !hub) return null;
    const inFolder = Object.keys(manifest.files).filter((path) => path.startsWith(`${hub.folder}/`));
    const paths = hub.files?.map((name) => `${hub.folder}/${name}`) ?? inFolder;
    if (variant.engine === 'web-llm' && !paths.includes(libraryPath(variant)))
      paths.push(libraryPath(variant));
    const files = paths.map((path) => {
      const file = manifest.files[path];
      return file && { path, ...file };
    });
    const whole = files.filter((file) => file !== undefined);
    return whole.length === files.length && inFolder.length > 0 ? whole : null;
  }

  async #readManifest(): Promise<Manifest | null> {
    try {
      const response = await fetch(new URL(MANIFEST, this.#modelsUrl), {
        signal: AbortSignal.timeout(MANIFEST_MS),
      });
      if (!response.ok) return null;
      return manifestSchema.parse(await response.json());
    } catch (error) {
      if (error instanceof z.ZodError) {
        const [issue] = error.issues;
        console.error(`localtext: ${MANIFEST} is passed over: ${issue?.path.join('.')}: ${issue?.message}`);
      }
      return null;
    }
  }

  async #fromNote(variant: Variant): Promise<WeightFile[] | null> {
    const note = await (await this.#store).note(noteName(variant));
    if (note === null) return null;
    try {
      const files = listSchema.parse(JSON.parse(note));
      return files.map(({ url, ...file }) => (url === undefined ? file : { ...file, url }));
    } catch {
      return null;
    }
  }

  #reachable(): Promise<boolean> {
    const now = performance.now();
    if (!this.#probe || now - this.#probe.at > PROBE_HOLDS_MS) {
      const reachable = fetch(`${this.#hub}/api/models?limit=1`, {
        signal: AbortSignal.timeout(PROBE_MS),
      }).then(
        ({ ok }) => ok,
        () => false,
      );
      this.#probe = { at: now, reachable };
    }
    return this.#probe.reachable;
  }
}

function belongsTo(variant: Variant, path: string): boolean {
  const { hub } = variant;
  if (!hub) return false;
  if (variant.engine === 'web-llm' && path === libraryPath(variant)) return true;
  return hub.files
    ? hub.files.some((name) => path === `${hub.folder}/${name}`)
    : path.startsWith(`${hub.folder}/`);
}

const noteName = ({ name, hub }: Variant): string =>
  `hub-${name.replaceAll(/[^\w.-]/g, '_')}-${hub?.revision ?? ''}.json`;
