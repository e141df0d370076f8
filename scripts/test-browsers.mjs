// The same tests in every browser: all of them, or `-- --browser webkit` (several: repeat it). What follows goes to vitest.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: {
    browser: { type: 'string', multiple: true, default: [] },
    // Writes the table in docs/browsers.md.
    write: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const { status } = spawnSync(
  process.execPath,
  ['scripts/test.mjs', '--project', 'browsers', ...positionals],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      LOCALTEXT_BROWSERS: values.browser.join(','),
      ...(values.write && { LOCALTEXT_WRITE_TABLE: '1' }),
    },
  },
);
process.exit(status ?? 1);
