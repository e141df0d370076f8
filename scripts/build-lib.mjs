// The package as published: dist/node (command line, Vite plugin), dist/lib (modules, for bundlers), dist/static (whole files, for
// sites without one), dist/wasm (the engines' WebAssembly files) and dist/types.
import { rmSync } from 'node:fs';

import { copyWasm } from './lib/wasm.mjs';
import { writeLicences } from './lib/licences.mjs';
import { buildModules } from './lib/modules.mjs';
import { buildStatic } from './lib/static.mjs';
import { buildNode } from './lib/node.mjs';
import { emitTypes } from './lib/types.mjs';

for (const folder of ['lib', 'static', 'types', 'wasm'])
  rmSync(`dist/${folder}`, { recursive: true, force: true });
const bundled = [...(await buildNode()), ...(await buildModules()), ...(await buildStatic())];
bundled.push(...(await copyWasm()));
emitTypes();
writeLicences(bundled, 'dist/THIRD-PARTY-LICENCES.txt');
