import {
  type Content,
  eachOf,
  isFound,
  isHtml,
  isScriptType,
  fetchContent,
  fault,
  type Finding,
  ok,
  warning,
  hostAdvice,
} from './answers.ts';
import type { Examined } from './service-worker.ts';
import type { SiteFile } from '#base';

export interface FileOptions {
  /** Whether the page is isolated. */
  isolated: boolean;
  onProgress(text: string): void;
  signal: AbortSignal;
}

/**
 * Checks the files that the service worker lists: they exist, with the listed content, and have the types
 * that browsers require.
 */
export async function examineFiles(
  { folder, shell, large }: Examined,
  { isolated, onProgress, signal }: FileOptions,
): Promise<Finding[]> {
  if (folder === null || shell.length + large.length === 0) return [];
  const kept = new Set(shell.map(({ url }) => url));
  const files = [...new Map([...shell, ...large].map((file) => [file.url, file])).values()];
  let checked = 0;
  const found = await eachOf(files, async (file) => {
    const content = await fetchContent(new URL(file.url, folder), file.marks !== undefined, signal);
    onProgress(`Checked ${++checked} of ${files.length} files of the site.`);
    return examine(file, content, kept.has(file.url), isolated);
  });
  const faults = found.filter((finding) => finding !== null);
  return faults.length > 0
    ? faults
    : [ok(`All ${files.length} files of the site are found, with the build's content and the right types.`)];
}

const examine = (file: SiteFile, answer: Content, kept: boolean, isolated: boolean): Finding | null =>
  missingFile(file.url, answer, kept) ??
  wrongType(file.url, answer) ??
  alteredFile(file, answer, kept) ??
  (isolated ? unisolatedWorker(file.url, answer) : null);

function missingFile(path: string, answer: Content, kept: boolean): Finding | null {
  const wantsPage = /(\.html?|\/)$/.test(path);
  if (isFound(answer) && (!isHtml(answer) || wantsPage)) return null;
  const what = isFound(answer) ? 'is answered with a page of HTML' : `answers ${answer.status}`;
  const matters = kept ? ', and cannot be cached for offline use' : '';
  const fallback = isFound(answer) ? hostAdvice(answer.headers) : '';
  return fault(
    `${path} ${what}${matters}.`,
    `Deploy the complete build, or run \`localtext init\` again.${fallback}`,
  );
}

function wrongType(path: string, { type, headers }: Content): Finding | null {
  if (path.endsWith('.wasm') && type !== 'application/wasm')
    return fault(
      `${path} is served as ${type || 'nothing'}: browsers cannot compile it while it downloads, and some refuse it.`,
      `Serve .wasm files as application/wasm.${hostAdvice(headers)}`,
    );
  if (/\.m?js$/.test(path) && !isScriptType(type))
    return fault(
      `${path} is served as ${type || 'nothing'}: browsers refuse it as a module.`,
      `Serve .js files as text/javascript.${hostAdvice(headers)}`,
    );
  return null;
}

function alteredFile({ url: path, sha256, marks }: SiteFile, answer: Content, kept: boolean): Finding | null {
  if (answer.sha256 === sha256 || marks?.every((mark) => answer.text.includes(mark))) return null;
  const differs = `${path} is not the file that the service worker lists`;
  // Some hosts shrink pictures. Updates do not wait for pictures.
  if (answer.type.startsWith('image/'))
    return warning(
      `${differs}: it is not stored for offline use.`,
      'Turn off what alters pictures at the host.',
    );
  return fault(
    `${differs}${kept ? ': updates are not installed, and the site does not open offline' : ', and is not stored'}.`,
    "Deploy the complete build again, clear the host's cache (CDN), and turn off what alters files there.",
  );
}

function unisolatedWorker(path: string, { headers }: Content): Finding | null {
  const isWorker = /(^|\/)worker-[\w-]+\.js$/.test(path);
  if (!isWorker || headers.has('cross-origin-embedder-policy')) return null;
  return warning(
    `${path} is served without Cross-Origin-Embedder-Policy: an isolated page cannot start it as a worker.`,
    'Send `Cross-Origin-Embedder-Policy: require-corp` with scripts too.',
  );
}
