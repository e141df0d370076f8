import { rolldown } from 'rolldown';
import { viteImportGlobPlugin } from 'rolldown/experimental';

import { workerChunks } from './shared-chunks.mjs';

/** One bundle an environment: none loads code of another. */
const bundles = {
  page: { index: 'src/index.ts' },
  sw: { index: 'src/service-worker/index.ts' },
  worker: { worker: 'src/engine-worker/worker.ts' },
  catalog: { index: 'src/catalog.ts' },
  store: { index: 'src/page/status-store/index.ts' },
  react: { index: 'src/page/react/index.ts' },
  'language-model': { index: 'src/language-model/index.ts' },
};

/**
 * Builds the package's modules. Requires `buildNode()`.
 * @returns {Promise<string[]>} paths of all modules that went in
 */
export async function buildModules() {
  const { wasmNames } = await import('../../dist/node/wasm-files.js');
  const names = JSON.stringify(await wasmNames());
  const modules = [];
  for (const [name, input] of Object.entries(bundles)) {
    const bundle = await rolldown({
      input,
      platform: 'browser',
      // The app's own.
      external: ['react'],
      // Its paths name declarations.
      tsconfig: false,
      // The engines are in chunks of the worker that load on first use. Left to the app's bundler, each would have to be
      // installed and resolved, and onnxruntime-web would add its WASM files a second time.
      resolve: { conditionNames: ['onnxruntime-web-use-extern-wasm', 'browser', 'import', 'default'] },
      // No chunk may import an entry: Vite's dev server starts the worker under a query string, so that chunk would load a
      // second instance of it.
      preserveEntrySignatures: 'strict',
      // The engines of src/engines/index.ts.
      plugins: [viteImportGlobPlugin(), workerUrls, ownAddress],
      transform: { define: { 'process.env.NODE_ENV': '"production"', __LOCALTEXT_WASM__: names } },
    });
    const { output } = await bundle.write({
      dir: `dist/lib/${name}`,
      format: 'esm',
      // A service worker cannot load code later, so its dynamic imports are inlined.
      ...(name === 'sw' && { codeSplitting: false }),
      ...(name === 'worker' && { codeSplitting: workerChunks }),
      // For frameworks that render on a server: hooks and context are for the page.
      banner: name === 'react' ? `'use client';` : '',
      chunkFileNames: ({ moduleIds }) =>
        moduleIds.some((id) => id.includes('@mlc-ai/web-llm')) ? 'web-llm-[hash].js' : '[name]-[hash].js',
      comments: { legal: true, annotation: true, jsdoc: false },
    });
    await bundle.close();
    modules.push(...output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : [])));
  }
  return modules;
}

/** `new Worker(new URL('…', import.meta.url))` is what bundlers look for: it must name the built file. */
const workerUrls = {
  name: 'worker-urls',
  transform(code) {
    const built = code.replaceAll(
      /new URL\('[./\w-]*\bworker\.ts', import\.meta\.url\)/g,
      `new URL('../worker/worker.js', import.meta.url)`,
    );
    return built === code ? null : { code: built, map: null };
  },
};

/**
 * The engines use the address of their script only to look for files beside it, and are given those files' addresses.
 * Left in, bundlers would take `new URL('…', import.meta.url)` for a file of the build.
 */
const ownAddress = {
  name: 'own-address',
  transform(code, id) {
    if (!/node_modules\/(onnxruntime-web|@huggingface\/transformers)\//.test(id.replaceAll('\\', '/')))
      return null;
    return { code: code.replaceAll('import.meta.url', 'self.location.href'), map: null };
  },
};
