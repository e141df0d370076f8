import { OWN_FILES, SERVICE_WORKER } from '../../package-files.ts';
import {
  type Answer,
  isFound,
  isHtml,
  isScriptType,
  fetchText,
  fault,
  type Finding,
  ok,
  warning,
  hostAdvice,
} from './answers.ts';
import { noFiles, type FileLists } from '../../site-files.ts';
import type { SiteFile } from '#base';

/** Result of examining the service worker's script, with its lists of the site's files. */
export interface Examined extends FileLists {
  findings: Finding[];
  /** The folder of the script, below which the site's other files lie; null: no service worker was found. */
  folder: URL | null;
}

/** @param named the script's address, when it is not the usual one */
export async function examineServiceWorker(page: URL, named: string | undefined): Promise<Examined> {
  const places =
    named === undefined
      ? [new URL(SERVICE_WORKER, page), new URL(`/${SERVICE_WORKER}`, page)]
      : [new URL(named, page)];
  const answers = await Promise.all(places.map((place) => fetchText(place)));
  const script = answers.find((answer) => isFound(answer) && !isHtml(answer));
  if (!script) return { findings: [missing(places[0], answers[0])], folder: null, ...noFiles() };
  const findings: Finding[] = [];
  const found = (text: string, fix: string): unknown => findings.push(fault(text, fix));
  const at = script.url.href;
  if (script.redirected)
    found(
      `${places[0]?.href} is a redirect, which browsers refuse for service workers.`,
      `Name ${at} itself.`,
    );
  if (!isScriptType(script.type))
    found(
      `${at} is served as ${script.type || 'nothing'}: browsers refuse to register it.`,
      `Serve .js files as text/javascript.${hostAdvice(script.headers)}`,
    );
  findings.push(...(await examineContent(script)));
  const folder = new URL('./', script.url);
  const allowed = script.headers.get('service-worker-allowed');
  const isScope = allowed !== null && URL.canParse(allowed, script.url.href);
  const scope = isScope ? new URL(allowed, script.url) : folder;
  if (!page.pathname.startsWith(scope.pathname))
    found(
      `The service worker's scope is ${scope.pathname}, and the page ${page.pathname} is not below it.`,
      'Move the script up to the folder of the pages, or send `Service-Worker-Allowed: /` with it and start({ serviceWorker: { scope } }).',
    );
  if (/max-age=\d{5,}|immutable/.test(script.headers.get('cache-control') ?? ''))
    findings.push(
      warning(
        `${at} may be cached for a long time, so that updates arrive late.`,
        'Send `Cache-Control: no-cache` with it.',
      ),
    );
  if (findings.length === 0) findings.push(ok(`The service worker is found: ${at}`));
  const lists = await listsOf(script.text, folder);
  if (!lists) findings.push(UNREADABLE);
  return { findings, folder, ...(lists ?? noFiles()) };
}

const UNREADABLE = warning(
  'The list of the files that the service worker keeps was changed since the build, as by a minifier: they are not checked.',
  'Deploy the service worker as it was built.',
);

/** The lists in the script, or in the one that a site's own service worker may import; null: they cannot be read. */
async function listsOf(script: string, folder: URL): Promise<FileLists | null> {
  const own = listed(script, folder);
  if (!own || own.shell.length + own.large.length > 0) return own;
  const answer = await fetchText(new URL(OWN_FILES, folder));
  return isFound(answer) ? listed(answer.text, folder) : noFiles();
}

function missing(place: URL | undefined, answer: Answer | undefined): Finding {
  const what = answer && isFound(answer) ? 'a page of HTML is answered' : `the answer is ${answer?.status}`;
  const fix =
    "Put localtext's there (the Vite plugin and `localtext init` do). If it is elsewhere, or part of the site's own service worker, name that with --service-worker.";
  return fault(`There is no service worker at ${place?.href}: ${what}.`, fix);
}

/** Maximum files of each list. A site has some dozens. */
const MAX_FILES = 1000;

/** The lists that the Vite plugin and `localtext init` put in front of the script; null: they cannot be read. */
function listed(text: string, folder: URL): FileLists | null {
  const list = (name: string): SiteFile[] => {
    const start = text.indexOf(`self.${name}=[`);
    const end = start < 0 ? -1 : text.indexOf('];', start);
    if (end < 0) return [];
    const files = (JSON.parse(text.slice(text.indexOf('[', start), end + 1)) as unknown[]).slice(
      0,
      MAX_FILES,
    );
    if (files.every((file) => isSiteFile(file, folder))) return files;
    throw new SyntaxError(name);
  };
  try {
    return {
      shell: [...list('__LOCALTEXT_PRECACHE__'), ...list('__LOCALTEXT_SMALL_FILES__')],
      large: list('__LOCALTEXT_LARGE_FILES__'),
    };
  } catch {
    return null;
  }
}

/** Whether it has what is checked of a file, and is of the site: its list may be hostile. */
function isSiteFile(value: unknown, folder: URL): value is SiteFile {
  const { url, marks = [] } = (value ?? {}) as Partial<Record<keyof SiteFile, unknown>>;
  const isOwn = typeof url === 'string' && URL.canParse(url, folder.href);
  return isOwn && new URL(url, folder).origin === folder.origin && Array.isArray(marks);
}

type Script = Answer & { text: string };

/** Maximum number of imported scripts that are read. */
const MAX_IMPORTS = 20;

const hasLocaltext = ({ text }: Script): boolean => text.includes('localtext:');

/** Whether localtext is in a service worker's script, or in one that it imports. */
async function examineContent(script: Script): Promise<Finding[]> {
  if (hasLocaltext(script)) return [];
  const imported = await importsOf(script);
  if (imported.some((each) => isFound(each) && isScriptType(each.type) && hasLocaltext(each))) return [];
  const refused = imported.find((each) => !isFound(each) || !isScriptType(each.type));
  if (!refused) return [fault(`${script.url.href} does not contain localtext.`, CALL_IT)];
  const why = isFound(refused) ? `is served as ${refused.type || 'nothing'}` : `answers ${refused.status}`;
  const text = `${script.url.href} imports ${refused.url.href}, which ${why}: browsers refuse the service worker.`;
  return [fault(text, DEPLOY_IT)];
}

const CALL_IT =
  "Call addLocaltext() of 'localtext/sw' in it, first of all, or import localtext-sw-import.js: docs/service-worker.md.";
const DEPLOY_IT =
  'Deploy the file, as text/javascript. The Vite plugin and `localtext init` write localtext-sw-import.js.';

/**
 * Scripts of the site's origin that `importScripts()` names literally, as a generated service worker does.
 */
async function importsOf({ url, text }: Script): Promise<Script[]> {
  const paths = [...text.matchAll(/\bimportScripts\(([^()]*)\)/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/["'`]([^"'`]+)["'`]/g)].map(([, path = '']) => path),
  );
  const addresses = [...new Set(paths)].filter((path) => URL.canParse(path, url.href));
  const own = addresses.map((path) => new URL(path, url)).filter(({ origin }) => origin === url.origin);
  return Promise.all(own.slice(0, MAX_IMPORTS).map(fetchText));
}
