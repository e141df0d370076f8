import { checkNames } from '#base';
import type { Catalog } from '#catalog';
import type { DeviceLimits, ImageOptions, SourceOptions } from '#protocol';
import type { EngineSettings } from './election/engine-worker.ts';
import { siteBase } from './site.ts';

export interface StartOptions {
  /**
   * Folder with the service worker, `models/` and `localtext/wasm/`, relative to the page. Default: the
   * site's base, which is Vite's `base`, the folder of a site made by `localtext init`, and `/` with other
   * bundlers.
   */
  base?: string;
  /** Replaces the default catalog, for every tab of the site. */
  catalog?: Catalog;
  /** Folder with the weights, relative to the page; default `models/` below `base`. */
  modelsUrl?: string;
  /** Folder with the engines' WASM files, relative to the page; default `localtext/wasm/` below `base`. */
  wasmUrl?: string;
  /**
   * Script of the engine's worker, relative to the page: `/localtext/worker.js`, which `localtext init`
   * writes, for bundlers that make no worker of `new Worker(new URL(…))` themselves. Default: the package's
   * own, which Vite and webpack find.
   */
  workerUrl?: string;
  /** Sources of weights. Default: only the site's own models folder. */
  sources?: SourceOptions;
  /** Variants by name, the most wanted first, ahead of the catalog's own order. */
  prefer?: string[];
  /**
   * Keys of the servers behind upstream variants, by the variant's name. Stored for the service worker, where
   * scripts of the origin can read them; clients never see them.
   */
  upstreamKeys?: Record<string, string>;
  /** Origins from which images of chat messages may be fetched. */
  images?: ImageOptions;
  /** How much of the device to take: memory, storage, a probe of the GPU. */
  limits?: DeviceLimits;
  /**
   * Location of the service worker; or the registration of the site's own, which includes localtext
   * (`localtext/sw`) and whose life cycle is then the site's.
   */
  serviceWorker?:
    | {
        /** Default `localtext-sw.js` below `base`. */
        url?: string;
        /** Default: the folder of `url`. */
        scope?: string;
      }
    | ServiceWorkerRegistration;
  /**
   * Paths of pages that the service worker isolates, which gives WASM threads: `/app/` names all pages below
   * it, `/chat` that page. Relative to the service worker; `./` is its folder. It adds the COOP and COEP
   * headers to these pages, unless the host sends its own, and `start()` reloads such a page once. Default:
   * the option of the Vite plugin, or none. The site's own service worker adds no headers.
   */
  isolation?: readonly string[];
}

/** Makes every URL absolute: the worker that gets them has another base. @throws TypeError for a misspelt option */
export function engineSettings(options: StartOptions): EngineSettings {
  const base = folderUrl(options.base ?? siteBase);
  const settings = {
    catalog: options.catalog ?? null,
    modelsUrl: folderUrl(options.modelsUrl ?? `${base}models/`),
    wasmUrl: folderUrl(options.wasmUrl ?? `${base}localtext/wasm/`),
    workerUrl: options.workerUrl === undefined ? null : absoluteUrl(options.workerUrl),
    sources: options.sources ?? {},
    prefer: options.prefer ?? [],
    limits: options.limits ?? {},
    images: options.images ?? {},
  };
  checkNames(options, [...Object.keys(settings), 'base', 'upstreamKeys', 'serviceWorker', 'isolation']);
  checkNames(settings.sources, ['hub'], 'sources.');
  checkNames(settings.limits, ['memoryBytes', 'evict', 'probe'], 'limits.');
  checkNames(settings.images, ['origins'], 'images.');
  return settings;
}

const absoluteUrl = (path: string): string => new URL(path, document.baseURI).href;

export function folderUrl(path: string): string {
  const href = absoluteUrl(path);
  return href.endsWith('/') ? href : `${href}/`;
}
