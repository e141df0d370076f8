// Writes docs/compatibility.md from the schemas of the service.
import { loadModule } from './lib/load-module.mjs';
import { writeOrCheck } from './lib/write-or-check.mjs';

const { compatibilityDocument } = await loadModule('/scripts/compatibility.ts');
writeOrCheck('docs/compatibility.md', await compatibilityDocument());
