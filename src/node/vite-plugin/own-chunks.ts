import type { Plugin } from 'vite';

import { isClone, packageFile } from '../package-files.ts';

/** Subset of a bundle's file that is used here. */
interface BundledFile {
  type: 'asset' | 'chunk';
  fileName: string;
  moduleIds?: string[];
  isEntry?: boolean;
}

/** Tells localtext's own chunks from the app's. */
export class OwnChunks {
  readonly #sources = packageFile(isClone() ? 'src/' : 'dist/').replaceAll('\\', '/');
  readonly #ofWorkers = new Set<string>();

  /** Vite bundles each worker by itself, and the app's bundle has its chunks as assets. */
  readonly plugin: Plugin = {
    name: 'localtext:own-chunks',
    generateBundle: (_options, bundle) => {
      const chunks = Object.values(bundle).filter(({ type }) => type === 'chunk') as BundledFile[];
      if (!chunks.some((chunk) => chunk.isEntry && chunk.moduleIds?.some(this.#isOwn))) return;
      for (const { fileName } of chunks) this.#ofWorkers.add(fileName);
    },
  };

  has({ fileName, moduleIds = [] }: BundledFile): boolean {
    // Vite's own modules, such as the wrapper of dynamic imports, begin with a null byte.
    const modules = moduleIds.filter((id) => !id.startsWith('\0'));
    return this.#ofWorkers.has(fileName) || (modules.length > 0 && modules.every(this.#isOwn));
  }

  #isOwn = (id: string): boolean => id.replaceAll('\\', '/').startsWith(this.#sources);
}
