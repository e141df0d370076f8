import { CommandError, webUrl } from '../arguments.ts';
import { examineFiles } from './files.ts';
import { fetchText, fault, type Finding } from './answers.ts';
import { examinePage } from './page.ts';
import { examineServiceWorker } from './service-worker.ts';
import { examineWeights } from './weights.ts';
import { describeFetchError } from '../fetch-error.ts';

export interface DoctorOptions {
  /** The service worker's address, relative to the page. */
  serviceWorker?: string;
  /** The models folder's address, relative to the page. */
  models?: string;
  onProgress?(text: string): void;
  signal?: AbortSignal;
}

/**
 * Checks a deployed site from outside.
 * @throws CommandError if an address is not a URL, or the site does not answer
 */
export async function examineSite(address: string, options: DoctorOptions): Promise<Finding[]> {
  const url = siteUrl(address, options);
  const page = await fetchText(url).catch((error: unknown) => {
    throw new CommandError(`${address} does not answer: ${describeFetchError(error)}`);
  });
  const elsewhere = options.models === undefined ? null : new URL(options.models, page.url);
  const findings = examinePage(page, elsewhere?.origin === page.url.origin ? null : elsewhere);
  try {
    const worker = await examineServiceWorker(page.url, options.serviceWorker);
    findings.push(...worker.findings);
    const isolated = page.headers.has('cross-origin-embedder-policy');
    const { onProgress = () => undefined, signal = new AbortController().signal } = options;
    findings.push(...(await examineFiles(worker, { isolated, onProgress, signal })));
    const models = new URL(options.models ?? 'models/', worker.folder ?? page.url);
    if (!models.pathname.endsWith('/')) models.pathname += '/';
    findings.push(...(await examineWeights(models, page.url)));
  } catch (error) {
    options.signal?.throwIfAborted();
    findings.push(fault(`The server stopped answering: ${describeFetchError(error)}`, 'Try again.'));
  }
  return findings;
}

/** @throws CommandError if an address is not a URL */
function siteUrl(address: string, { serviceWorker, models }: DoctorOptions): URL {
  const url = webUrl(address, undefined, 'Give one that begins with https:// or http://.');
  for (const other of [serviceWorker, models])
    if (other !== undefined) webUrl(other, url.href, 'Give one, or a path on the site.');
  return url;
}
