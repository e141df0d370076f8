// dist/node alone, for a clone of the repository: `npx localtext` there. `npm ci` runs it there as `prepublish`; as
// `prepare` it would be wanted of the packed package too, which does not have this script.
import { buildNode } from './lib/node.mjs';

await buildNode();
