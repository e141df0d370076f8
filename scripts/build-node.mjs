// dist/node alone, for a clone of the repository: `npx localtext` there.
import { buildNode } from './lib/node.mjs';

await buildNode();
