import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Plugin } from 'vite';

/** Puts a script of the site's folder into the build as it is: for one that must run before the first paint. */
export function plainScript(name: string): Plugin {
  let root: string;
  return {
    name: 'localtext-plain-script',
    configResolved(config) {
      root = config.root;
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: name, source: readFileSync(resolve(root, name)) });
    },
  };
}
