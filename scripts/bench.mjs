// The bench is TypeScript; Vite, which builds its page, runs it too.
import { runnerImport } from 'vite';

const { module } = await runnerImport('/tools/bench/run.ts', { configFile: false, logLevel: 'warn' });
try {
  await module.bench(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
