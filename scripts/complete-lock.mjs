// A registry mirror may lack packages for other platforms. npm then leaves these optional dependencies out of
// package-lock.json, and `npm ci` refuses the file everywhere. This adds them, for their own platforms only.
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
