// Writes docs/compatibility.md from the schemas of the service.
import { writeFileSync } from 'node:fs';
import { runnerImport } from 'vite';

const { module } = await runnerImport('./src/service/compatibility.ts');
writeFileSync('docs/compatibility.md', module.compatibilityDocument());
