// The long run of test/fuzz: npm run test:fuzz -- --requests 10000 --answers 2000 --forms 2000 --parts 2000 --files 5000 --images 5000 --schemas 2000 --templates 2000 --sounds 5000 --seed 1; --only <index> sends one request of it,
// --kind decision those of one kind.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    answers: { type: 'string', default: '2000' },
    forms: { type: 'string', default: '2000' },
    parts: { type: 'string', default: '2000' },
    files: { type: 'string', default: '5000' },
    images: { type: 'string', default: '5000' },
    schemas: { type: 'string', default: '2000' },
    templates: { type: 'string', default: '2000' },
    sounds: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    kind: { type: 'string' },
  },
});
const vitest = join('node_modules', '.bin', 'vitest');
const { status } = spawnSync(
  vitest,
  [
    'run',
    '--project',
    'unit-isolated',
    '--project',
    'timed',
    '--project',
    'nightly',
    values.kind === undefined ? 'test/fuzz' : 'test/fuzz/fuzz.test.ts',
  ],
  {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: {
      ...process.env,
      LOCALTEXT_FUZZ_REQUESTS: values.requests,
      LOCALTEXT_FUZZ_ANSWERS: values.answers,
      LOCALTEXT_FUZZ_FORMS: values.forms,
      LOCALTEXT_FUZZ_PARTS: values.parts,
      LOCALTEXT_FUZZ_FILES: values.files,
      LOCALTEXT_FUZZ_IMAGES: values.images,
      LOCALTEXT_FUZZ_SCHEMAS: values.schemas,
      LOCALTEXT_FUZZ_TEMPLATES: values.templates,
      LOCALTEXT_FUZZ_SOUNDS: values.sounds,
      LOCALTEXT_FUZZ_SEED: values.seed,
      LOCALTEXT_FUZZ_MAX_P99_MS: '250',
      ...(values.only === undefined ? {} : { LOCALTEXT_FUZZ_ONLY: values.only }),
      ...(values.kind === undefined ? {} : { LOCALTEXT_FUZZ_KIND: values.kind }),
    },
  },
);
process.exit(status ?? 1);
