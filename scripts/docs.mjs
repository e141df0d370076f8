// docs/api, from the comments of what the package exports. A release builds these pages for the package. TypeDoc needs a
// TypeScript that this repository does not use, so npx fetches both.
import { spawnSync } from 'node:child_process';

import { emitTypes } from './lib/types.mjs';

const PACKAGES = ['typedoc@0.28.20', 'typedoc-plugin-markdown@4.14.1', 'typescript@5.9.3'];

emitTypes();
const packages = PACKAGES.flatMap((name) => ['-p', name]);
const { status } = spawnSync(
  'npx',
  ['--yes', ...packages, 'typedoc', '--options', 'scripts/typedoc/typedoc.json'],
  { stdio: 'inherit', shell: process.platform === 'win32' },
);
process.exitCode = status ?? 1;
