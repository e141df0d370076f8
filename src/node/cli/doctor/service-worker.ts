import { OWN_FILES, SERVICE_WORKER } from '../../package-files.ts';
import { type Answer, isFound, isHtml, isScriptType, fetchText } from './answers.ts';
import { fault, type Finding, ok, warning } from './finding.ts';
import { hostAdvice } from './hosts.ts';
import { examineContent } from './imported-scripts.ts';
import type { FileLists } from '../../site-files.ts';
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
  if (!script) return { findings: [missing(places[0], answers[0])], folder: null, shell: [], large: [] };
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
  const scope = allowed === null ? folder : new URL(allowed, script.url);
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
  const lists = listed(script.text);
  // The site's own service worker may import the list.
  const isEmpty = lists.shell.length + lists.large.length === 0;
  return { findings, folder, ...(isEmpty ? await importedLists(folder) : lists) };
}

function missing(place: URL | undefined, answer: Answer | undefined): Finding {
  const what = answer && isFound(answer) ? 'a page of HTML is answered' : `the answer is ${answer?.status}`;
  const fix =
    "Put localtext's there (the Vite plugin and `localtext init` do). If it is elsewhere, or part of the site's own service worker, name that with --service-worker.";
  return fault(`There is no service worker at ${place?.href}: ${what}.`, fix);
}

/** Maximum files of each list. A site has some dozens. */
const MAX_FILES = 1000;

async function importedLists(folder: URL): Promise<FileLists> {
  const answer = await fetchText(new URL(OWN_FILES, folder));
  return isFound(answer) ? listed(answer.text) : { shell: [], large: [] };
}

/** The lists that the Vite plugin and `localtext init` put in front of the script. */
function listed(text: string): FileLists {
  const list = (name: string): SiteFile[] => {
    const start = text.indexOf(`self.${name}=[`);
    const end = start < 0 ? -1 : text.indexOf('];', start);
    if (end < 0) return [];
    const files = JSON.parse(text.slice(text.indexOf('[', start), end + 1)) as SiteFile[];
    return files.slice(0, MAX_FILES);
  };
  return {
    shell: [...list('__LOCALTEXT_PRECACHE__'), ...list('__LOCALTEXT_SMALL_FILES__')],
    large: list('__LOCALTEXT_LARGE_FILES__'),
  };
}
