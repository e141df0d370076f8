// A registry mirror may lack packages for other platforms. npm then leaves these optional dependencies out of
// package-lock.json, and `npm ci` refuses the file everywhere. This adds them, for their own platforms only, each with
// the hash that the registry has for it: an entry without one would be installed unchecked.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const added = [];
for (const owner of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    const platform = /binding-([a-z0-9]+)-([a-z0-9]+)(?:-([a-z]+))?$/.exec(name);
    if (lock.packages[path] || !platform) continue;
    const [, os, cpu, abi = ''] = platform;
    const libc = os === 'linux' && (abi.startsWith('musl') ? 'musl' : 'glibc');
    lock.packages[path] = {
      version,
      integrity: integrityOf(name, version),
      ...(os === 'wasm32' ? { cpu: ['wasm32'] } : { cpu: [cpu], os: [os] }),
      ...(libc && { libc: [libc] }),
      ...(owner.dev && { dev: true }),
      optional: true,
    };
    added.push(name);
  }
}
const [root, ...rest] = Object.entries(lock.packages);
lock.packages = Object.fromEntries([root, ...rest.toSorted(([a], [b]) => a.localeCompare(b, 'en'))]);
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
console.log(added.length > 0 ? `added ${added.join(', ')}` : 'nothing was missing');

function integrityOf(name, version) {
  const options = {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  };
  try {
    const integrity = execFileSync('npm', ['view', `${name}@${version}`, 'dist.integrity'], options).trim();
    if (integrity.startsWith('sha512-')) return integrity;
  } catch {
    // npm's own message does not say what to do about it.
  }
  console.error(
    `The registry has no hash for ${name}@${version}. Choose a version of its package that the registry has for every platform.`,
  );
  process.exit(1);
}
