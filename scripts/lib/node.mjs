import { rmSync } from 'node:fs';
import { rolldown } from 'rolldown';

/**
 * The command line and the Vite plugin, with everything they use but Vite itself in them: who installs localtext gets
 * one package.
 * @returns {Promise<string[]>} paths of all modules that went in
 */
export async function buildNode() {
  rmSync('dist/node', { recursive: true, force: true });
  const bundle = await rolldown({
    input: {
      cli: 'src/node/cli/cli.ts',
      'vite-plugin': 'src/node/vite-plugin/vite-plugin.ts',
      'wasm-files': 'src/node/wasm-files.ts',
    },
    platform: 'node',
    // rolldown: only a clone builds llama.cpp's worker.
    external: ['vite', 'rolldown'],
  });
  // Flat: src/node/package-files.ts counts the folders up to the package's own.
  const { output } = await bundle.write({
    dir: 'dist/node',
    format: 'esm',
    chunkFileNames: '[name]-[hash].js',
  });
  await bundle.close();
  return output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
}
