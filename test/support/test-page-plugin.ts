import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

import { packageWasm } from '../../src/node/engine-files/llama-wasm.ts';

/** Scripts by name: each becomes `/<name>.html`, with nothing of the playground. */
const PAGES = {
  /** The library, started, and the OpenAI client. */
  'test-page': './site/test-page.ts',
  /** The library, which the test starts as it likes. */
  'lifetime-page': '../browser/lifetime/site/lifetime-page.ts',
  /** The library, started, and hostile requests. */
  'fuzz-page': '../fuzz/page/fuzz-page.ts',
  /** `LanguageModel` over `/v1`. */
  'language-model-page': './site/language-model-page.ts',
  /** llama.cpp's server alone. */
  'llama-page': './site/llama-page.ts',
};
/** The raw engines beside the library: 7 MB that a service worker's installation would store. */
const BENCH_PAGE = { 'bench-page': '../../tools/bench/page/main.ts' };

/** An engine worker, for `start({ workerUrl })`: `/counting-worker.js`. */
const WORKER = '../browsers/site/counting-worker.ts';

/** The package's own WASM, without our kernels. */
const PACKAGE_WASM = [
  ['default', 'package/wllama.wasm'],
  ['compat', 'package/wllama-compat.wasm'],
] as const;

/** Headers for WASM threads on the first visit, with every answer. */
const ISOLATION = [
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-embedder-policy', 'require-corp'],
  ['cross-origin-resource-policy', 'same-origin'],
] as const;

/** Adds the tests' own pages to the site, and the headers to its preview server. */
export function testPage({ bench }: { bench: boolean }): Plugin {
  const chunks = new Map<string, string>();
  return {
    name: 'localtext-test-page',
    configurePreviewServer({ middlewares }) {
      middlewares.use((_request, response, next) => {
        for (const [name, value] of ISOLATION) response.setHeader(name, value);
        next();
      });
    },
    buildStart() {
      for (const [name, path] of Object.entries({ ...PAGES, ...(bench && BENCH_PAGE) })) {
        const id = fileURLToPath(new URL(path, import.meta.url));
        chunks.set(name, this.emitFile({ type: 'chunk', id }));
      }
      const id = fileURLToPath(new URL(WORKER, import.meta.url));
      this.emitFile({ type: 'chunk', id, fileName: 'counting-worker.js' });
    },
    generateBundle() {
      for (const [build, fileName] of PACKAGE_WASM)
        this.emitFile({ type: 'asset', fileName, source: readFileSync(packageWasm(build)) });
      for (const [name, chunk] of chunks) {
        const source = `<!doctype html><title>${name}</title><link rel="icon" href="data:,"><script type="module" src="./${this.getFileName(chunk)}"></script>`;
        this.emitFile({ type: 'asset', fileName: `${name}.html`, source });
      }
    },
  };
}
