// Writes docs/compatibility.md from the schemas of the service.
import { runnerImport } from 'vite';

import { writeOrCheck } from './lib/write-or-check.mjs';

const { module } = await runnerImport('./scripts/compatibility.ts');
writeOrCheck('docs/compatibility.md', module.compatibilityDocument());
