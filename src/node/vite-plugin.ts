import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import sirv from 'sirv';
import { defaultClientConditions, type Connect, type Plugin, type ResolvedConfig } from 'vite';

import { apiHint } from './vite/api-hint.ts';
import { headersFor } from './vite/isolation.ts';
import { bundleServiceWorker, type PrecacheEntry } from './vite/service-worker.ts';
import { isFallback, WASM_PATH, wasmFiles } from './vite/wasm-files.ts';

export interface LocaltextOptions {
  /** Folder with the weights, served below /models; relative to the working folder. Default: `public/models`. */
  models?: string;
}

/** The name under which the page registers it; at the root, so that its scope is the whole site. */
const SERVICE_WORKER = 'localtext-sw.js';

/**
 * What a site needs to run localtext: its service worker at `/localtext-sw.js`, the engines' WASM files below
 * `/localtext/wasm/`, and, in the dev and preview servers, the weights below `/models/` and the headers for WASM threads.
 * Weights are never copied into the build: put them beside it where you host it.
 */
export default function localtext(options: LocaltextOptions = {}): Plugin {
  const models = resolve(options.models ?? 'public/models');
  const entry = fileURLToPath(new URL('../../sw/sw.ts', import.meta.url));
  let config: ResolvedConfig;

  const serveModels = (middlewares: Connect.Server): void => {
    middlewares.use('/models', sirv(models, { dev: true, etag: true }));
    middlewares.use('/models', notFound);
    middlewares.use(apiHint);
  };

  return {
    name: 'localtext',
    enforce: 'post',

    config: () => ({
      worker: { format: 'es' },
      // Else onnxruntime-web brings its WASM files along as assets, a second time.
      resolve: { conditions: ['onnxruntime-web-use-extern-wasm', ...defaultClientConditions] },
      // Bundled beforehand, they would look for their own files in the wrong place.
      optimizeDeps: { exclude: ['@huggingface/transformers', '@wllama/wllama'] },
    }),

    configResolved(resolved) {
      config = resolved;
    },

    configureServer({ middlewares }) {
      middlewares.use(headersFor(null));
      serveModels(middlewares);
      const files = wasmFiles();
      for (const [name, path] of files) middlewares.use(`/${WASM_PATH}${name}`, serveFile(path));
      middlewares.use(`/${SERVICE_WORKER}`, serveServiceWorker(entry, config.root));
    },

    configurePreviewServer({ middlewares }) {
      middlewares.use(headersFor(`/${config.build.assetsDir}/`));
      serveModels(middlewares);
    },

    generateBundle: {
      order: 'post',
      async handler(_output, bundle) {
        const hashed = `${config.build.assetsDir}/`;
        const precache = Object.values(bundle)
          .filter(({ fileName }) => !fileName.endsWith('.map'))
          .map((file) => {
            const source = file.type === 'chunk' ? file.code : file.source;
            return precacheEntry(file.fileName, file.fileName.startsWith(hashed) ? null : source);
          });
        for (const [name, path] of wasmFiles()) {
          const [fileName, source] = [WASM_PATH + name, readFileSync(path)];
          this.emitFile({ type: 'asset', fileName, source });
          // An engine must start without a network too.
          if (!isFallback(name)) precache.push(precacheEntry(fileName, source));
        }
        precache.sort((a, b) => (a.url < b.url ? -1 : 1));
        const code = await bundleServiceWorker({ entry, root: config.root, precache, production: true });
        this.emitFile({ type: 'asset', fileName: SERVICE_WORKER, source: code });
      },
    },
  };
}

/** @param source null where the file's name has a hash. */
function precacheEntry(fileName: string, source: string | Uint8Array | null): PrecacheEntry {
  const revision = source && createHash('sha256').update(source).digest('hex').slice(0, 16);
  return { url: `/${fileName}`, revision };
}

/** Bundled anew for every request; nothing is precached while one develops. */
function serveServiceWorker(entry: string, root: string): Connect.NextHandleFunction {
  return async (_request, response, next) => {
    try {
      const code = await bundleServiceWorker({ entry, root, precache: [], production: false });
      response.setHeader('Content-Type', 'text/javascript');
      response.setHeader('Cache-Control', 'no-cache');
      response.end(code);
    } catch (error) {
      next(error);
    }
  };
}

const notFound: Connect.NextHandleFunction = (_request, response) => {
  response.statusCode = 404;
  response.end('not found');
};

/** sirv serves folders; a folder of one file is its parent, asked for that name. */
function serveFile(path: string): Connect.NextHandleFunction {
  const folder = sirv(resolve(path, '..'), { dev: true, etag: true });
  const url = `/${path.split(/[\\/]/).at(-1)}`;
  return (request, response, next) => {
    request.url = url;
    folder(request, response, next);
  };
}
