// Publishes the package with a provenance statement; without --publish, npm only says what it would do. A tarball may be
// named; else npm builds and packs the clone.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const args = process.argv.slice(2);
const publish = args.includes('--publish');
const tarball = args.find((arg) => !arg.startsWith('--'));
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

function fail(message) {
  console.error(message);
  process.exit(1);
}

const heading = new RegExp(`^## ${version.replaceAll('.', String.raw`\.`)}$`, 'm');
if (!heading.test(readFileSync('CHANGELOG.md', 'utf8')))
  fail(`CHANGELOG.md has no section "## ${version}". Write it before the release.`);
if (publish) {
  const changed = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' });
  if (changed !== '') fail(`The working tree is not clean. Commit or remove:\n${changed}`);
  const tag = process.env['GITHUB_REF_NAME'];
  if (tag !== `v${version}`) fail(`The tag is ${tag}, and package.json has version ${version}.`);
}

// npm can sign a provenance statement only in CI.
const how = publish ? ['--provenance'] : ['--dry-run'];
execFileSync('npm', ['publish', '--access', 'public', ...how, ...(tarball ? [tarball] : [])], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
});
