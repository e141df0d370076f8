// dist/node alone, for a clone of the repository: `npx localtext` there. `npm ci` runs it there as `prepublish`; as
// `prepare` it would also run in the packed package, which lacks this script.
import { buildNode } from './lib/node.mjs';

await buildNode();
