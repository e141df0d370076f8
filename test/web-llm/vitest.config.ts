import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Real runs on a model that is named on the command line: `npm run test:web-llm`. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('.', import.meta.url)),
    include: ['*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 1_800_000,
  },
});
