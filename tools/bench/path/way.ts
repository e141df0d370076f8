import { mkdtemp, rm } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { launch, type Browser, type CDPSession, type Connection } from 'puppeteer-core';
import { createServer, type Plugin, type ViteDevServer } from 'vite';

import localtext from '../../../src/node/vite-plugin/vite-plugin.ts';
import { findBrowser } from '../../../test/support/find-browser.ts';
import { pullTestWeights } from '../../../test/support/pull-test-weights.ts';

/** The files whose functions one streamed chat runs while everything is warm, and what each of its tokens passes. */
export interface Way {
  /** Source files by thread. */
  threads: { name: string; files: string[] }[];
  /** Async iterators that were asked for at least every second token: `<function> in <file>`. */
  iterators: string[];
  tokens: number;
}

/** Files of abilities that the measured chat does not use. */
const UNUSED_ABILITIES =
  /status-channel|local-routes|prompt-images|label-scores|^src\/(service\/tools|images|engines\/pictures|models\/decisions|routing\/upstream|grammar)\//;

const MAX_TOKENS = 48;
const PAGE = '/path-page.html';

interface Target {
  id: string;
  name: string;
  session: CDPSession;
  /** Scripts by their id. */
  scripts: Map<string, Script>;
}

/** A script of localtext, with its map to source positions. */
interface Script {
  text: string;
  /** Null if the script consists only of `path`. */
  map: SourceMap | null;
  path: string;
}

/** A function that ran. */
interface Ran {
  name: string;
  path: string;
  count: number;
}

/** Counts by function how often an async generator was asked for its next value. Runs in every thread. */
const COUNT_ITERATORS = `(() => {
  const prototype = Object.getPrototypeOf(async function* () {}).prototype;
  const next = prototype.next;
  globalThis.pathCounts = new Map();
  prototype.next = function (...given) {
    const made = Object.getPrototypeOf(this);
    const seen = pathCounts.get(made) ?? { generator: this, count: 0 };
    seen.count++;
    pathCounts.set(made, seen);
    return next.apply(this, given);
  };
})()`;

/** Sends one streamed chat, reads it whole. Resolves to the number of its pieces of text. */
const CHAT = (prompt: string): string => `(async () => {
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + pathKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'amber-phoenix-4', stream: true, max_tokens: ${MAX_TOKENS}, temperature: 0,
      messages: [{ role: 'user', content: ${JSON.stringify(prompt)} }],
    }),
  });
  const text = await response.text();
  if (!text.endsWith('data: [DONE]\\n\\n')) throw new Error(text.slice(0, 500));
  return text.split('"content":').length - 2;
})()`;

/** The files that the chat runs, although it does not use their ability. */
export const needlessOf = (way: Way): string[] => filesOf(way).filter((file) => UNUSED_ABILITIES.test(file));

export async function measureWay(): Promise<Way> {
  await pullTestWeights();
  const folder = await mkdtemp(join(tmpdir(), 'localtext-path-'));
  const server = await serve(folder);
  let browser: Browser | null = null;
  try {
    browser = await launch({
      executablePath: findBrowser(),
      userDataDir: join(folder, 'profile'),
      args: ['--no-sandbox', '--no-first-run', '--disable-background-networking'],
      protocolTimeout: 300_000,
    });
    return await measure(browser, `${server.resolvedUrls?.local[0]?.replace(/\/$/, '')}${PAGE}`);
  } finally {
    await browser?.close();
    await server.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The sources as they are, file by file: Vite's dev server. */
async function serve(folder: string): Promise<ViteDevServer> {
  const root = process.cwd();
  const page: Plugin = {
    name: 'localtext-path-page',
    configureServer({ middlewares }) {
      middlewares.use(PAGE, (_request, response) => {
        response.setHeader('content-type', 'text/html');
        response.end(
          '<!doctype html><title>path</title><link rel="icon" href="data:,"><script type="module">import { start } from "/src/index.ts"; window.localtext = start({});</script>',
        );
      });
    },
  };
  const server = await createServer({
    root,
    configFile: false,
    logLevel: 'warn',
    cacheDir: join(folder, 'vite'),
    appType: 'custom',
    server: { hmr: false, watch: null, host: 'localhost', port: 0 },
    optimizeDeps: { noDiscovery: true, include: [] },
    plugins: [localtext({ models: join(root, 'public/models') }), page],
  });
  return server.listen();
}

async function measure(browser: Browser, url: string): Promise<Way> {
  const targets: Target[] = [];
  const main = await browser.target().createCDPSession();
  const connection = main.connection() as Connection;
  await attachTo(main, connection, targets);
  const page = await browser.newPage();
  await page.goto(url);
  const evaluate = async <T>(expression: string): Promise<T> => (await page.evaluate(expression)) as T;
  await evaluate(`(async () => {
    const localtext = await window.localtext;
    await localtext.ready('amber-phoenix-4');
    window.pathKey = (await localtext.keys.ensure({ label: 'path' })).key;
  })()`);
  await evaluate(CHAT('Hello! What is a lighthouse?'));
  await evaluate(CHAT('And what is a harbour?'));

  for (const { session } of targets) {
    await session.send('Profiler.enable');
    await session.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.send('Runtime.evaluate', { expression: COUNT_ITERATORS });
  }
  const tokens = await evaluate<number>(CHAT('What is a bridge?'));
  const ran = new Map<Target, Ran[]>();
  for (const target of targets) ran.set(target, await functionsThatRan(target));
  const iterators: string[] = [];
  for (const target of targets) {
    iterators.push(...(await iteratorsOf(target, tokens)));
    // An iterator that is written by hand.
    for (const { name, path, count } of ran.get(target) ?? [])
      if (name === 'next' && count >= tokens / 2) iterators.push(`${name} in ${path}`);
  }

  const threads = [...ran].flatMap(([{ name }, functions]) => {
    const files = [...new Set(functions.map(({ path }) => path))].toSorted();
    return files.length > 0 ? [{ name, files }] : [];
  });
  return { threads, iterators: [...new Set(iterators)].toSorted(), tokens };
}

/** Attaches to all targets below a session, now and later, and to what is below them. */
async function attachTo(session: CDPSession, connection: Connection, targets: Target[]): Promise<void> {
  session.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
    const child = connection.session(sessionId);
    if (!child) return;
    const { targetId: id, type, url } = targetInfo;
    // A service worker is below the browser and below its page.
    const isKnown = targets.some((target) => target.id === id);
    if (!isKnown && type !== 'browser' && type !== 'tab') {
      const target: Target = { id, name: nameOf(type, url), session: child, scripts: new Map() };
      targets.push(target);
      followScripts(target);
    }
    attachTo(child, connection, targets).catch(() => undefined);
  });
  await session.send('Target.setAutoAttach', {
    autoAttach: true,
    waitForDebuggerOnStart: false,
    flatten: true,
  });
}

const nameOf = (type: string, url: string): string => {
  if (type === 'page') return 'page';
  if (type === 'service_worker') return 'service worker';
  return url.includes('wllama-worker') ? "llama.cpp's worker" : 'engine worker';
};

function followScripts({ session, scripts }: Target): void {
  session.on('Debugger.scriptParsed', ({ scriptId, url }) => {
    if (!url.startsWith('http')) return;
    const path = new URL(url).pathname.replace(/^\//, '');
    if (!/^(src|sw)\/|localtext-sw\.js$/.test(path)) return;
    scripts.set(scriptId, { text: '', map: null, path });
  });
  session.send('Debugger.enable').catch(() => undefined);
}

async function functionsThatRan(target: Target): Promise<Ran[]> {
  const { session, scripts } = target;
  const { result } = await session.send('Profiler.takePreciseCoverage');
  await session.send('Profiler.stopPreciseCoverage');
  const ran: Ran[] = [];
  for (const { scriptId, functions } of result) {
    const script = scripts.get(scriptId);
    if (!script) continue;
    const { scriptSource } = await session.send('Debugger.getScriptSource', { scriptId });
    script.text = scriptSource;
    script.map = script.path.endsWith('-sw.js') ? inlineMap(scriptSource) : null;
    for (const { functionName: name, ranges } of functions) {
      const [range] = ranges;
      if (!range || range.count === 0) continue;
      const path = sourceOf(script, range.startOffset, range.endOffset);
      if (path) ran.push({ name, path, count: range.count });
    }
  }
  return ran;
}

function inlineMap(text: string): SourceMap {
  const encoded = /\/\/# sourceMappingURL=data:[^,]*,(\S+)\s*$/.exec(text)?.[1] ?? '';
  return new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString()));
}

/** File of the first mapping that begins inside a function: an earlier one may be its neighbour's. Null: not one of ours. */
function sourceOf({ map, text, path }: Script, start: number, end: number): string | null {
  if (!map) return path;
  const before = text.slice(0, start).split('\n');
  const [line, column] = [before.length - 1, before.at(-1)?.length ?? 0];
  const lines = text.slice(start, end).split('\n');
  for (const [at, { length }] of lines.entries())
    for (let each = at === 0 ? column : 0; each <= length + (at === 0 ? column : 0); each++) {
      const entry = map.findEntry(line + at, each);
      if (!('originalSource' in entry)) continue;
      const { generatedLine, generatedColumn, originalSource } = entry;
      if (generatedLine < line || (generatedLine === line && generatedColumn < column)) continue;
      return /(?:^|\/)((?:src|sw)\/.*)$/.exec(originalSource)?.[1] ?? null;
    }
  return null;
}

async function iteratorsOf(target: Target, tokens: number): Promise<string[]> {
  const { session, scripts } = target;
  const named: string[] = [];
  const { result } = await session.send('Runtime.evaluate', {
    expression: `[...globalThis.pathCounts.values()].filter(({ count }) => count >= ${tokens / 2}).map(({ generator }) => generator)`,
  });
  const propertiesOf = (objectId = '') =>
    session.send('Runtime.getProperties', { objectId, ownProperties: true });
  const { result: elements } = await propertiesOf(result.objectId);
  for (const { name, value } of elements) {
    if (!/^\d+$/.test(name) || !value?.objectId) continue;
    const { internalProperties = [] } = await propertiesOf(value.objectId);
    const property = (wanted: string) => internalProperties.find((each) => each.name === wanted)?.value;
    const {
      scriptId = '',
      lineNumber = 0,
      columnNumber = 0,
    } = property('[[GeneratorLocation]]')?.value ?? {};
    const script = scripts.get(scriptId);
    if (!script) continue;
    const text = property('[[GeneratorFunction]]')?.description ?? '';
    const before = script.text.split('\n').slice(0, lineNumber);
    const offset = before.reduce((length, line) => length + line.length + 1, columnNumber);
    const path = sourceOf(script, offset, script.text.length);
    if (path) named.push(`${/^async ?\*? ?(?:function ?\*? ?)?([^(]*)/.exec(text)?.[1]?.trim()} in ${path}`);
  }
  return named;
}

/** Each file once: what several threads run is where it runs first. */
export const filesOf = ({ threads }: Way): string[] => [...new Set(threads.flatMap(({ files }) => files))];

/** The list in docs/architecture.md. */
export function describeWay(way: Way): string {
  const listed = new Set<string>();
  const lines = way.threads.flatMap(({ name, files }) => {
    const own = files.filter((path) => !listed.has(path));
    for (const path of own) listed.add(path);
    return [`In the ${name}:`, '', ...own.map((path) => `- \`${path}\``), ''];
  });
  const passed = way.iterators.map((each) => `\`${each.replace(' in ', '` in `')}\``).join(', ');
  return [
    `${listed.size} files. A token passes ${way.iterators.length} async iterators: ${passed}.`,
    '',
    ...lines,
  ].join('\n');
}
