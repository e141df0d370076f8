import {
  type Content,
  eachOf,
  fault,
  type Finding,
  isFound,
  isPage,
  fetchAnswer,
  fetchContent,
  ok,
  warning,
} from './answers.ts';
import { hostAdvice } from './hosts.ts';
import { type Examined, isScriptType } from './service-worker.ts';
import type { WeightFile } from '../../../catalog/catalog.ts';
import { defaultCatalog } from '../../../catalog/default-catalog.ts';
import type { SiteFile } from '../../../protocol/site-file.ts';

export interface FileOptions {
  /** Whether the page is isolated. */
  isolated: boolean;
  onProgress(text: string): void;
  signal: AbortSignal;
}

/** The files that the service worker lists: found, with the listed content, and of the types that browsers insist on. */
export async function examineFiles(
  { folder, shell, large }: Examined,
  { isolated, onProgress, signal }: FileOptions,
): Promise<Finding[]> {
  if (folder === null) return [];
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

function examine(file: SiteFile, answer: Content, kept: boolean, isolated: boolean): Finding | null {
  const { url: path, sha256, marks } = file;
  const wantsPage = /(\.html?|\/)$/.test(path);
  if (!isFound(answer) || (isPage(answer) && !wantsPage)) {
    const what = isFound(answer) ? 'is answered with a page of HTML' : `answers ${answer.status}`;
    const matters = kept ? ', and cannot be cached for offline use' : '';
    const fallback = isFound(answer) ? hostAdvice(answer.headers) : '';
    return fault(
      `${path} ${what}${matters}.`,
      `Deploy the complete build, or run \`localtext init\` again.${fallback}`,
    );
  }
  if (path.endsWith('.wasm') && answer.type !== 'application/wasm')
    return fault(
      `${path} is served as ${answer.type || 'nothing'}: browsers cannot compile it while it downloads, and some refuse it.`,
      `Serve .wasm files as application/wasm.${hostAdvice(answer.headers)}`,
    );
  if (/\.m?js$/.test(path) && !isScriptType(answer.type))
    return fault(
      `${path} is served as ${answer.type || 'nothing'}: browsers refuse it as a module.`,
      `Serve .js files as text/javascript.${hostAdvice(answer.headers)}`,
    );
  if (answer.sha256 !== sha256 && !marks?.every((mark) => answer.text.includes(mark))) {
    const differs = `${path} is not the file that the service worker lists`;
    // Hosts shrink pictures, and no update waits for one.
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
  const isWorker = /(^|\/)worker-[\w-]+\.js$/.test(path);
  if (isolated && isWorker && !answer.headers.has('cross-origin-embedder-policy'))
    return warning(
      `${path} is served without Cross-Origin-Embedder-Policy: an isolated page cannot start it as a worker.`,
      'Send `Cross-Origin-Embedder-Policy: require-corp` with scripts too.',
    );
  return null;
}

/**
 * The weights of the default catalog, whose sizes are known: there, of the right size, and served in ranges.
 * @param models folder with the weights, ending in a slash
 * @param page from which they are fetched
 */
export async function examineWeights(models: URL, page: URL): Promise<Finding[]> {
  const variants = new Map(
    defaultCatalog.models
      .flatMap((model) => model.variants)
      .filter(({ files }) => files.length > 0)
      .map((variant) => [variant.name, variant]),
  );
  const perVariant = await eachOf([...variants], async ([name, { files, optIn = false }]) => {
    const states = await eachOf(files, (file) => examineFile(file, models, page));
    const missing = states.filter((state) => state === 'missing').length;
    return { name, whole: missing === 0, none: missing === states.length, optIn, states };
  });
  const pull = `Download them: npx localtext pull --to <folder>, and deploy the folder at ${models.href} (or name another: start({ modelsUrl }), and --models here).`;
  if (perVariant.every(({ none }) => none)) return [fault(`There are no weights at ${models.href}`, pull)];
  return perVariant.flatMap(({ name, whole, none, optIn, states }): Finding[] => {
    const findings = states.filter((state) => typeof state !== 'string');
    // A site whose pages do not prefer it has no need of it.
    if (none && optIn) return [];
    if (none)
      return [warning(`The weights of ${name} are missing: models that need them do not answer.`, pull)];
    if (!whole) return [fault(`Some of the weights of ${name} are missing.`, pull), ...findings];
    return findings.length > 0 ? findings : [ok(`The weights of ${name} are complete and served in ranges.`)];
  });
}

async function examineFile(file: WeightFile, models: URL, page: URL): Promise<Finding | 'missing' | 'well'> {
  const url = new URL(file.path, models);
  const answer = await fetchAnswer(url, { range: 'bytes=0-0', origin: page.origin });
  if (!isFound(answer) || isPage(answer)) return 'missing';
  const { headers, status } = answer;
  const total = status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length');
  if (total && Number(total) !== file.bytes)
    return fault(
      `${file.path} has ${total} bytes instead of ${file.bytes}: it would be refused.`,
      'Download it again: npx localtext pull. A file in Git LFS must be fetched before it is deployed.',
    );
  if (headers.has('content-encoding'))
    return fault(
      `${file.path} is served compressed.`,
      'Compression does not make weights smaller: turn it off for them.',
    );
  if (url.origin !== page.origin) {
    const allowed = headers.get('access-control-allow-origin');
    if (allowed !== '*' && allowed !== page.origin)
      return fault(
        `${url.origin} does not let ${page.origin} read ${file.path}.`,
        `Send \`Access-Control-Allow-Origin: ${page.origin}\` from there.`,
      );
  }
  if (status !== 206)
    return warning(
      `${file.path} is not served in ranges: an interrupted download starts over.`,
      'Have the host answer Range requests (206 Partial Content).',
    );
  return 'well';
}
