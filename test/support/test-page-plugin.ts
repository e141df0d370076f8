import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

/** Adds `/test-page.html`: the library and the OpenAI client on `window`, and nothing of the playground. */
export function testPage(): Plugin {
  let chunk: string;
  return {
    name: 'localtext-test-page',
    buildStart() {
      const id = fileURLToPath(new URL('./site/test-page.ts', import.meta.url));
      chunk = this.emitFile({ type: 'chunk', id });
    },
    generateBundle() {
      const source = `<!doctype html><title>test page</title><script type="module" src="/${this.getFileName(chunk)}"></script>`;
      this.emitFile({ type: 'asset', fileName: 'test-page.html', source });
    },
  };
}
