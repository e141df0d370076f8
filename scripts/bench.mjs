// The bench is TypeScript; Vite, which builds its page, runs it too.
import { loadModule } from './lib/load-module.mjs';

// Vite's loader would set it for development, and pages that are built later would be such.
process.env.NODE_ENV = 'production';
const { bench } = await loadModule('/tools/bench/run.ts');
try {
  await bench(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
