// Holds the imports against the diagram in docs/architecture.md: an arrow for each pair of folders, none too many, and no cycles,
// neither between folders nor inside one (its files and folders). Types count. With --print it writes the arrows.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const DOCUMENT = 'docs/architecture.md';
const ROOTS = ['src', 'sw', 'playground', 'tools/engine-files', 'tools/weights'];
/** Folders that all of `src` may import; the diagram omits their arrows. For the playground, which is an app, this holds only for the catalog. */
const SHARED = new Set(['catalog', 'errors', 'jobs', 'protocol', 'util']);
const isLeftOut = (from, to) => (from === 'playground' ? to === 'catalog' : SHARED.has(to));

const posix = (path) => path.replaceAll('\\', '/');
const files = ROOTS.flatMap((root) =>
  readdirSync(root, { recursive: true })
    .map((name) => posix(join(root, name)))
    .filter((path) => /\.tsx?$/.test(path)),
);

/** Relative imports, also later ones and those of workers. */
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'|new URL\(\s*'(\.[^']+\.ts)',\s*import\.meta\.url/g;
const imports = files.flatMap((from) =>
  [...readFileSync(from, 'utf8').matchAll(IMPORT)]
    .map(([, imported, worker]) => posix(join(dirname(from), imported ?? worker)))
    .filter((to) => /\.tsx?$/.test(to))
    .map((to) => ({ from, to })),
);

/** A folder of `src`, or one beside it, as the diagram names it. */
const roomOf = (path) => {
  const [root, folder, ...rest] = path.split('/');
  if (root !== 'src') return root === 'tools' ? `${root}/${folder}` : root;
  return rest.length > 0 ? folder : 'index.ts';
};

const faults = imports
  .filter(({ to }) => !existsSync(to))
  .map(({ from, to }) => `${from} imports ${to}, which does not exist.`);

/** Finds one cycle of a graph, as a list of its nodes; null if there is none. */
function findCycle(edges) {
  const targets = new Map();
  for (const edge of edges) targets.set(edge.from, [...(targets.get(edge.from) ?? []), edge]);
  const done = new Set();
  const visit = (node, path) => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return null;
    for (const { to } of targets.get(node) ?? []) {
      const cycle = visit(to, [...path, node]);
      if (cycle) return cycle;
    }
    done.add(node);
    return null;
  };
  for (const node of targets.keys()) {
    const cycle = visit(node, []);
    if (cycle) return cycle;
  }
  return null;
}

const folders = new Set(
  files.flatMap((path) =>
    path
      .split('/')
      .slice(0, -1)
      .map((_, at, parts) => parts.slice(0, at + 1).join('/')),
  ),
);
for (const folder of folders) {
  const childOf = (path) =>
    path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split('/')[0] : null;
  const edges = imports
    .map(({ from, to }) => ({ from: childOf(from), to: childOf(to) }))
    .filter(({ from, to }) => from !== null && to !== null && from !== to);
  const cycle = findCycle(edges);
  if (cycle) faults.push(`An import goes up in ${folder}: ${cycle.join(' → ')}`);
}

const arrows = new Set(
  imports
    .map(({ from, to }) => [roomOf(from), roomOf(to)])
    .filter(([from, to]) => from !== to && !isLeftOut(from, to))
    .map((pair) => pair.join(' --> ')),
);
if (process.argv.includes('--print')) for (const arrow of [...arrows].toSorted()) console.log(arrow);

const [, diagram = ''] =
  /## Which folder imports which[^]*?```mermaid\n([^]*?)```/.exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
const drawn = new Set(
  [...diagram.matchAll(/^ *([\w/.-]+)(?:\[[^\]]*\])? --> (.+)$/gm)].flatMap(([, from, targets]) =>
    targets.split(' & ').map((to) => `${from} --> ${to.replace(/\[.*\]/, '').trim()}`),
  ),
);
for (const arrow of arrows) if (!drawn.has(arrow)) faults.push(`${DOCUMENT} lacks the arrow ${arrow}.`);
for (const arrow of drawn)
  if (!arrows.has(arrow)) faults.push(`${DOCUMENT} has the arrow ${arrow}, and nothing imports so.`);

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
