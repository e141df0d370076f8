import { readdir, writeFile } from 'node:fs/promises';

import { rolldown } from 'rolldown';
import { build, defaultClientConditions } from 'vite';

import { workerChunks } from './shared-chunks.mjs';

/**
 * Builds the files for sites without a bundler. Requires `buildModules()`.
 * @returns {Promise<string[]>} paths of all modules that went in
 */
export async function buildStatic() {
  const modules = [];
  const webLlm = await oneWebLlm();
  const { wasmNames } = await import('../../dist/node/wasm-files.js');
  const names = { chunkFileNames: 'localtext/[name]-[hash].js' };
  const seen = {
    name: 'seen',
    generateBundle: (_options, bundle) => {
      for (const file of Object.values(bundle)) if (file.type === 'chunk') modules.push(...file.moduleIds);
    },
  };
  await build({
    configFile: false,
    publicDir: false,
    base: './',
    logLevel: 'warn',
    define: { __LOCALTEXT_WASM__: JSON.stringify(await wasmNames()) },
    plugins: [plainImports, ownBase, seen, stubEntry],
    resolve: { conditions: ['onnxruntime-web-use-extern-wasm', ...defaultClientConditions] },
    worker: {
      format: 'es',
      plugins: () => [seen, webLlm],
      rolldownOptions: {
        external: [WEB_LLM],
        output: { ...names, entryFileNames: 'localtext/[name]-[hash].js', codeSplitting: workerChunks },
      },
    },
    build: {
      outDir: 'dist/static',
      target: 'es2023',
      modulePreload: false,
      chunkSizeWarningLimit: 7_000,
      rolldownOptions: {
        input: { localtext: 'src/index.ts', store: 'src/page/status-store/index.ts' },
        // What lazy chunks share with the entry stays in it: separate chunks compress worse.
        preserveEntrySignatures: 'allow-extension',
        output: {
          ...names,
          entryFileNames: ({ name }) => `localtext/${name === 'localtext' ? 'page' : name}-[hash].js`,
        },
      },
    },
  });
  await nameWorker();
  return [
    ...modules,
    // Bundled separately, because chunks shared with the page library would cost each page one more request. They hold no state.
    ...(await buildFile('localtext/catalog.js', 'src/catalog.ts', 'es', {})),
    ...(await buildFile('localtext/language-model.js', 'src/language-model/index.ts', 'es', {})),
    ...(await buildServiceWorker('localtext-sw.js', 'sw/sw.ts', false)),
    ...(await buildServiceWorker('localtext-sw-servers.js', 'sw/sw.ts', true)),
    ...(await buildServiceWorker('localtext-sw-import.js', 'sw/import.ts', true)),
    ...(await buildServiceWorker('localtext-sw-remove.js', 'sw/remove.ts', false)),
  ];
}

/**
 * One classic script: the Vite plugin and `localtext init` put a list of files in front of it. Only sites with upstream
 * servers take the one that can call them.
 */
const buildServiceWorker = (name, input, servers) =>
  buildFile(name, input, 'iife', { __LOCALTEXT_SERVERS__: String(servers) });

/** @returns {Promise<string[]>} paths of the modules in it */
async function buildFile(name, input, format, constants) {
  const bundle = await rolldown({
    input,
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"', ...constants } },
    // No module reads a property or a global for its side effect.
    treeshake: { propertyReadSideEffects: false, unknownGlobalSideEffects: false },
    optimization: { inlineConst: true },
  });
  const { output } = await bundle.generate({
    format,
    minify: true,
    codeSplitting: false,
    // For bundlers: no bundler reads this file.
    comments: { annotation: false },
  });
  await bundle.close();
  const [{ code, moduleIds }] = output;
  await writeFile(`dist/static/${name}`, code);
  return moduleIds;
}

/**
 * `localtext.js` and `store.js` re-export the libraries, and no chunk imports them: a site that adds a query string to its name
 * (`localtext.js?v=2`) must not load a second instance.
 */
const stubEntry = {
  name: 'stub-entry',
  generateBundle(_options, bundle) {
    for (const entry of Object.values(bundle).filter((file) => file.type === 'chunk' && file.isEntry)) {
      const source = `export * from './${entry.fileName.split('/').at(-1)}';\n`;
      this.emitFile({ type: 'asset', fileName: `localtext/${entry.name}.js`, source });
    }
  },
};

/** `worker.js`, for bundlers that make no worker of `new Worker(new URL(…))`: no chunk imports it, and its name stays. */
async function nameWorker() {
  const folder = 'dist/static/localtext';
  const worker = (await readdir(folder)).find((name) => /^worker-[^/]+\.js$/.test(name));
  if (worker === undefined) throw new Error(`${folder} has no engine worker.`);
  await writeFile(`${folder}/worker.js`, `import './${worker}';\n`);
}

const WEB_LLM = '@mlc-ai/web-llm';

/** web-llm is 6 MB: the package has it once, in the chunk of the modules, which `localtext init` puts beside these files. */
async function oneWebLlm() {
  const chunk = (await readdir('dist/lib/worker')).find((name) => name.startsWith('web-llm-'));
  if (chunk === undefined) throw new Error('dist/lib/worker has no chunk of web-llm.');
  return {
    name: 'one-web-llm',
    renderChunk(code) {
      const named = code.replaceAll(/import\((["'`])@mlc-ai\/web-llm\1\)/g, `import("./${chunk}")`);
      return named === code ? null : { code: named, map: null };
    },
  };
}

/** Disables Vite's wrapper of dynamic imports, which does nothing without a list of files to preload. */
const plainImports = {
  name: 'plain-imports',
  enforce: 'pre',
  load: (id) =>
    id.endsWith('vite/preload-helper.js') ? 'export const __vitePreload = (load) => load();' : null,
};

/** The files derive the site's base from their own URL, so a site in a folder needs no setting. All are in one folder. */
const ownBase = {
  name: 'own-base',
  renderChunk(code) {
    const own = `new URL('../',import.meta.url).href`;
    return code.includes('__LOCALTEXT_BASE__')
      ? { code: code.replaceAll('__LOCALTEXT_BASE__', own), map: null }
      : null;
  },
};
