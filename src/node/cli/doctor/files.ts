import { fault, ok, warning, type Finding } from './finding.ts';
import { hostAdvice } from './hosts.ts';
import { eachOf, isFound, isPage, look, type Answer } from './look.ts';
import { isScriptType, type Examined } from './service-worker.ts';

/** What the engines cannot do without, where no list says more. */
const USUAL = [
  'wllama.wasm',
  'wllama-worker.js',
  'ort-wasm-simd-threaded.js',
  'ort-wasm-simd-threaded.wasm',
].map((name) => `localtext/wasm/${name}`);

/** The files that the service worker lists: there, and of the types that browsers insist on. */
export async function examineFiles(
  { folder, shell, large }: Examined,
  isolated: boolean,
): Promise<Finding[]> {
  if (folder === null) return [];
  const kept = new Set(shell);
  const paths = [...new Set([...shell, ...large, ...USUAL])];
  const found = await eachOf(paths, async (path) =>
    examine(path, await look(new URL(path, folder)), kept.has(path), isolated),
  );
  const faults = found.filter((finding) => finding !== null);
  return faults.length > 0
    ? faults
    : [ok(`All ${paths.length} files of the site are found, with the right types.`)];
}

function examine(path: string, answer: Answer, kept: boolean, isolated: boolean): Finding | null {
  const wantsPage = /(\.html?|\/)$/.test(path);
  if (!isFound(answer) || (isPage(answer) && !wantsPage)) {
    const what = isFound(answer) ? 'is answered with a page of HTML' : `answers ${answer.status}`;
    const matters = kept ? ', and cannot be cached for offline use' : '';
    const fallback = isFound(answer) ? hostAdvice(answer.headers, 'no fallback page') : '';
    return fault(
      `${path} ${what}${matters}.`,
      `Deploy the complete build, or run \`localtext init\` again.${fallback}`,
    );
  }
  if (path.endsWith('.wasm') && answer.type !== 'application/wasm')
    return fault(
      `${path} is served as ${answer.type || 'nothing'}: browsers cannot compile it while it downloads, and some refuse it.`,
      `Serve .wasm files as application/wasm.${hostAdvice(answer.headers, 'wasm type')}`,
    );
  if (/\.m?js$/.test(path) && !isScriptType(answer.type))
    return fault(
      `${path} is served as ${answer.type || 'nothing'}: browsers refuse it as a module.`,
      `Serve .js files as text/javascript.${hostAdvice(answer.headers, 'script type')}`,
    );
  const isWorker = /(^|\/)worker-[\w-]+\.js$/.test(path);
  if (isolated && isWorker && !answer.headers.has('cross-origin-embedder-policy'))
    return warning(
      `${path} is served without Cross-Origin-Embedder-Policy: an isolated page cannot start it as a worker.`,
      'Send `Cross-Origin-Embedder-Policy: require-corp` with scripts too.',
    );
  return null;
}
