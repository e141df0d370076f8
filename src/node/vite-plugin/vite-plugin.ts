/**
 * The Vite plugin.
 * @module localtext/vite
 */

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

import { defaultClientConditions, type Connect, type Plugin, type ResolvedConfig } from 'vite';

import {
  isClone,
  OWN_FILES,
  packageFile,
  SERVICE_WORKER,
  SERVICE_WORKER_IMPORT,
  STATIC_FOLDER,
} from '../package-files.ts';
import { checkWay, MADE_FILES, madeFilesText, readMadeFiles } from '../made-files.ts';
import { markPage } from '../page-mark.ts';
import { shown } from '../cli/output.ts';
import { addFile, addFolder, chooseNetworkFirst, isPage, noFiles, ownFilesScript } from '../site-files.ts';
import { apiHint, cacheFor, isolateWorkers, serveFile, serveFolder, serveScript } from './middlewares.ts';
import { OwnChunks } from './own-chunks.ts';
import { serviceWorker } from './service-worker.ts';
import { WASM_PATH, wasmFiles, wasmNames } from '../wasm-files.ts';

export interface LocaltextOptions {
  /**
   * Folder with the weights, served below `models/`; relative to Vite's root. Default: `models` in Vite's
   * public folder. `false`: pages load them from elsewhere.
   */
  models?: string | false;
  /**
   * The site's own service worker, which calls `addLocaltext()` of `localtext/sw`; relative to Vite's root.
   * It is bundled to `<name>.js` at the site's base, and finds the list of the build's files, in Workbox's
   * form, in `self.__WB_MANIFEST`. Default: localtext's own, `localtext-sw.js`.
   */
  serviceWorker?: string;
  /**
   * Paths of pages that localtext's own service worker isolates, which gives WASM threads; relative to the
   * site's base: `['./']` for the whole site. The default of `isolation` of `start()`. Default: none.
   */
  isolation?: readonly string[];
  /**
   * `network-first`: pages come from the network; the last answer of each is stored, and shown without a
   * network. Default: pages come from the build's files, or `network-first` if the build has no page, because
   * a server renders them.
   */
  pages?: 'network-first';
  /**
   * Page that is shown without a network in place of one that is not stored: an `*.html` file of the public
   * folder, relative to the site's base. Its links start at the root. Implies `pages: 'network-first'`.
   */
  offlinePage?: string;
  /**
   * Whether localtext's own service worker can call the upstream servers of the catalog. Default false: it is
   * 10 KB smaller. A site's own service worker always can.
   */
  servers?: boolean;
}

/** Packages that the engine worker's sources import in a clone. */
const ENGINES = ['@huggingface/tokenizers', '@huggingface/transformers', '@wllama/wllama'];

/**
 * Files of a bundle that the service worker does not keep. Safari plays sound and video only from answers to
 * ranges.
 */
const NOT_KEPT = /\.(map|mp3|m4[av]|aac|flac|wav|og[agv]|opus|weba|webm|mp4|mov)$/i;

let ignoresAsked = false;

/**
 * Patterns for Workbox's `globIgnores`, also in vite-plugin-pwa: the files that `addLocaltext()` keeps when
 * they are first used, and the weights. Otherwise Workbox has every visitor download them, or fails the build
 * for their size.
 * @example
 * import { globIgnores } from 'localtext/vite';
 * const workbox = { globIgnores: globIgnores() };
 */
export function globIgnores(): string[] {
  ignoresAsked = true;
  return ['**/node_modules/**/*', 'localtext/**', 'localtext-sw*.js', 'models/**', '**/web-llm-*.js'];
}

/**
 * Adds what a site needs to run localtext: its service worker at the site's base, so that its scope is the
 * whole site; the engines' WASM files below `localtext/wasm/`; and, in the dev and preview servers, the
 * weights below `models/`.
 * @example
 * // vite.config.js
 * export default { plugins: [localtext()] };
 */
export default function localtext(options: LocaltextOptions = {}): Plugin {
  const models = (): string =>
    resolve(config.root, options.models || join(config.publicDir || 'public', 'models'));
  const name = options.serviceWorker
    ? basename(options.serviceWorker).replace(/\.[cm]?[jt]s$/, '.js')
    : SERVICE_WORKER;
  if (options.models === '' || options.serviceWorker === '')
    throw new Error('localtext: `models` and `serviceWorker` are paths, and must not be empty.');
  const { servers = false, isolation = [], pages, offlinePage } = options;
  if (![undefined, 'network-first'].includes(pages))
    throw new Error("localtext: `pages` is 'network-first' or absent.");
  if (options.serviceWorker !== undefined && (isolation.length > 0 || (pages ?? offlinePage) !== undefined))
    throw new Error(
      "localtext: `isolation`, `pages` and `offlinePage` are only for localtext's own service worker, not for `serviceWorker`.",
    );
  const own = new OwnChunks();
  let config: ResolvedConfig;
  /** The path part of the base, as the dev and preview servers see it. */
  const base = (): string => (config.base.startsWith('/') ? config.base : '/');
  const worker = () => ({
    root: config.root,
    entry: options.serviceWorker === undefined ? null : resolve(config.root, options.serviceWorker),
    servers,
  });

  const serveModels = (middlewares: Connect.Server): void => {
    middlewares.use(serveFolder(`${base()}models/`, models()));
    middlewares.use(apiHint);
  };

  return {
    name: 'localtext',
    enforce: 'post',

    config: async ({ base: siteBase = '/' }) => ({
      worker: { format: 'es', plugins: () => [own.plugin] },
      define: {
        // The base may be on another origin, but a service worker must be on the page's.
        __LOCALTEXT_BASE__: JSON.stringify(
          /^(\w+:)?\/\//.test(siteBase) ? '/' : (siteBase || '.').replace(/\/?$/, '/'),
        ),
        __LOCALTEXT_SERVICE_WORKER__: JSON.stringify(name),
        __LOCALTEXT_ISOLATION__: JSON.stringify(isolation),
        // The package's worker is built with these names.
        ...(isClone() && { __LOCALTEXT_WASM__: JSON.stringify(await wasmNames()) }),
      },
      // Not bundled in advance: it would look for its workers in the wrong place.
      optimizeDeps: { exclude: ['localtext', ...(isClone() ? ENGINES : [])] },
      // Without this condition, onnxruntime-web would add its WASM files as assets. The package has it
      // bundled.
      ...(isClone() && {
        resolve: { conditions: ['onnxruntime-web-use-extern-wasm', ...defaultClientConditions] },
      }),
    }),

    configResolved(resolved) {
      config = resolved;
      const { command, logger, plugins } = resolved;
      if (options.models !== false && !existsSync(models()))
        logger.warnOnce(
          `localtext: there is no folder ${shown(models())}. Download the weights: npx localtext pull. If pages load them from elsewhere, set \`models: false\`.`,
        );
      if (!ignoresAsked && command === 'build' && plugins.some((each) => each.name === 'vite-plugin-pwa'))
        logger.warn(
          "localtext: vite-plugin-pwa would precache the engines' files. Set `globIgnores: globIgnores()`, from 'localtext/vite', in its `workbox` or `injectManifest`.",
        );
    },

    async configureServer({ middlewares }) {
      if (isolation.length > 0) middlewares.use(isolateWorkers);
      serveModels(middlewares);
      for (const [file, path] of await wasmFiles())
        middlewares.use(base() + WASM_PATH + file, serveFile(path));
      // Bundled again for every request. No file is kept during development.
      const files = noFiles();
      const list = ownFilesScript(files);
      const serve = (file: string, script: () => Promise<string>): unknown =>
        middlewares.use(base() + file, serveScript(script));
      serve(name, () => serviceWorker({ ...worker(), files, production: false }));
      serve(OWN_FILES, async () => list);
      if (!isClone()) serve(SERVICE_WORKER_IMPORT, () => importable(list));
    },

    configurePreviewServer({ middlewares }) {
      middlewares.use(cacheFor([`${base()}${config.build.assetsDir}/`, base() + WASM_PATH]));
      serveModels(middlewares);
    },

    generateBundle: {
      order: 'post',
      async handler(_output, bundle) {
        if (this.environment.name !== 'client') return;
        const hashed = `${config.build.assetsDir}/`;
        const files = noFiles();
        const ownFiles = noFiles();
        for (const file of Object.values(bundle)) {
          const { fileName } = file;
          if (NOT_KEPT.test(fileName)) continue;
          if (file.type === 'asset' && isPage(fileName))
            file.source = markPage(Buffer.from(file.source).toString(), 'build');
          const source = file.type === 'chunk' ? file.code : file.source;
          const isHashed = fileName.startsWith(hashed);
          addFile(files, fileName, source, isHashed);
          if (own.has(file)) addFile(ownFiles, fileName, source, isHashed);
        }
        const wasm = await wasmFiles();
        if (config.publicDir) {
          const written = [...Object.keys(bundle), ...[...wasm.keys()].map((file) => WASM_PATH + file)];
          const replaced = [...written, name, SERVICE_WORKER, OWN_FILES, SERVICE_WORKER_IMPORT];
          const skipped = new Set([models(), ...replaced.map((file) => join(config.publicDir, file))]);
          await addFolder(files, config.publicDir, { skip: (path) => skipped.has(path) });
        }
        const made = new Map<string, string | Uint8Array>();
        const emit = (fileName: string, source: string | Uint8Array): void => {
          made.set(fileName, source);
          this.emitFile({ type: 'asset', fileName, source });
        };
        for (const [file, path] of wasm) {
          const [fileName, source] = [WASM_PATH + file, readFileSync(path)];
          emit(fileName, source);
          // An engine must start without a network too.
          for (const list of [files, ownFiles]) addFile(list, fileName, source, true);
        }
        const list = ownFilesScript(ownFiles);
        emit(OWN_FILES, list);
        if (!isClone()) emit(SERVICE_WORKER_IMPORT, await importable(list));
        const hasPages = [...files.shell, ...files.large].some(({ url }) => isPage(url));
        const ofPages = chooseNetworkFirst(files, { pages, offlinePage }, hasPages);
        emit(name, await serviceWorker({ ...worker(), files, networkFirst: ofPages, production: true }));
        // Vite has copied the public folder into the other before: its files are named where the user has them.
        const { copyPublicDir, outDir, write } = this.environment.config.build;
        const folders = [...(copyPublicDir ? [config.publicDir] : []), resolve(config.root, outDir)];
        for (const folder of write ? folders.filter(Boolean) : [])
          await checkWay(folder, made, await readMadeFiles(folder));
        emit(MADE_FILES, madeFilesText(made));
      },
    },
  };
}

/** Script with all of localtext, to be imported. */
const importable = async (list: string): Promise<string> =>
  list + (await readFile(packageFile(`${STATIC_FOLDER}/${SERVICE_WORKER_IMPORT}`), 'utf8'));
