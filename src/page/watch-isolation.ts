import {
  addStartedPaths,
  hasCredentialless,
  readIsolation,
  writeIsolation,
  type IsolationNeed,
} from '../database/isolation-record.ts';
import { ISOLATED_MARK } from '../protocol/local-paths.ts';
import { scopeOf } from '../protocol/locks.ts';
import { delay } from '../util/async.ts';

const TRIED = 'localtext:reloaded-for-isolation:';
const POLL_INTERVAL_MS = 250;
/** An isolated page sees its popup as closed once that has left for another origin. People take longer. */
const LOST_MS = 10_000;
const DAY_MS = 24 * 3600 * 1000;
const MAX_FAILING = 50;

const FRAMES = 'iframe, frame, object, embed';
const FILES = 'img, script, link[rel~=stylesheet], video, audio, source';

/**
 * Watches for what cross-origin isolation breaks, and remembers it for the scope: the service worker then leaves the headers of
 * pages alone. Frames and popups of other origins are seen in a page that is not isolated, before anything breaks.
 * @param onNeed told each time a need is seen, and of one that is known already
 * @returns the need that is known now
 */
export async function watchIsolation(
  scopeUrl: string,
  signal: AbortSignal,
  onNeed: (need: IsolationNeed) => void,
): Promise<IsolationNeed | null> {
  const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const isMarked = page?.serverTiming?.some(({ name }) => name === ISOLATED_MARK) ?? false;
  // The host's headers are the host's to change.
  if (crossOriginIsolated && !isMarked) return null;
  const scope = scopeOf(scopeUrl);
  const record = await readIsolation(scope);
  if (record.need) onNeed(record.need);

  const note = ({ kind, url }: IsolationNeed): void => {
    const { origin, pathname } = new URL(url);
    if (record.need && (kind === 'file' || Date.now() - record.seenAt < DAY_MS)) return;
    record.need = { kind, url: origin === 'null' ? url : origin + pathname };
    record.seenAt = Date.now();
    onNeed(record.need);
    writeIsolation(scope, record).catch(warn);
  };
  const noteFailure = (url: string): void => {
    if (record.failing.includes(url)) return;
    if (isMarked) return note({ kind: 'file', url });
    // It fails without the headers, too.
    record.failing = [...record.failing.slice(1 - MAX_FAILING), url];
    if (record.need?.kind === 'file' && url.startsWith(record.need.url)) record.need = null;
    writeIsolation(scope, record).catch(warn);
  };
  const isForeign = (url: string): boolean => /^https?:/.test(url) && !url.startsWith(scopeUrl);
  const isCrossOrigin = (url: string): boolean => /^https?:/.test(url) && new URL(url).origin !== origin;

  const lookAtFrame = (frame: Element): void => {
    const url = addressOf(frame) || document.baseURI;
    if ((frame as { credentialless?: boolean }).credentialless) return;
    if (isForeign(addressOf(frame)) || hasLeft(frame)) note({ kind: 'frame', url });
  };
  /** A browser without `credentialless` would not load it. */
  const lookAtFile = (file: Element): void => {
    const url = addressOf(file);
    if (!isCrossOrigin(url) || file.hasAttribute('crossorigin')) return;
    if (isBroken(file)) noteFailure(url);
    else if (!isMarked && !hasCredentialless()) note({ kind: 'file', url });
  };
  const look = ({ type, target }: Event): void => {
    if (!(target instanceof Element)) return;
    if (target.matches(FRAMES)) lookAtFrame(target);
    else if (!target.matches(FILES)) return;
    else if (type === 'load') lookAtFile(target);
    else if (isCrossOrigin(addressOf(target))) noteFailure(addressOf(target));
  };
  // An element's `load` does not come to the window.
  for (const type of ['load', 'error']) document.addEventListener(type, look, { capture: true, signal });
  document.querySelectorAll(FRAMES).forEach(lookAtFrame);
  document.querySelectorAll(FILES).forEach(lookAtFile);
  // A popup of another site's, which talks to it.
  if (opener && isElsewhere(opener as Window))
    note({ kind: 'popup', url: document.referrer || location.href });
  const addPaths = (...urls: string[]): Promise<void> =>
    addStartedPaths(
      scope,
      // Not `about:`, `blob:` or `data:`.
      new Set(urls.filter((url) => /^https?:/.test(url)).map((url) => new URL(url).pathname)),
    ).catch(warn);
  watchPopups({
    signal,
    isMarked,
    isForeign,
    // An isolated page loses a popup that is not isolated, too.
    onOwn: (url) => void addPaths(url),
    onForeign: (url) => note({ kind: 'popup', url }),
  });
  // A single-page app shows others of its pages without a navigation.
  globalThis.navigation?.addEventListener('navigatesuccess', () => void addPaths(location.href), { signal });
  // A router may have changed the address already. Some browsers name the entry `document`.
  await addPaths(page?.name ?? '', location.href);
  return record.need;
}

/** Reloads a page that is not isolated; not again in a tab where that has not helped. */
export function reloadOnce(): void {
  if (crossOriginIsolated) return sessionStorage.removeItem(TRIED);
  if (sessionStorage.getItem(TRIED)) return;
  sessionStorage.setItem(TRIED, '1');
  location.reload();
}

const warn = (error: unknown): void =>
  console.warn('localtext: could not record what isolation breaks', error);

function addressOf(element: Element): string {
  const { currentSrc, src, data, href } = element as Partial<
    Record<'currentSrc' | 'src' | 'data' | 'href', string>
  >;
  return currentSrc || src || data || href || '';
}

const isBroken = (element: Element): boolean =>
  element instanceof HTMLImageElement && element.complete && element.naturalWidth === 0;

/** Whether its page is of another origin, also after a redirect, or as it is sandboxed. */
const hasLeft = (frame: Element): boolean => {
  const { contentWindow } = frame as Partial<HTMLIFrameElement>;
  return contentWindow ? isElsewhere(contentWindow) : false;
};

function isElsewhere(other: Window): boolean {
  try {
    return other.location.href === '';
  } catch {
    return true;
  }
}

interface PopupWatch {
  signal: AbortSignal;
  isMarked: boolean;
  isForeign(url: string): boolean;
  onOwn(url: string): void;
  onForeign(url: string): void;
}

function watchPopups({ signal, isMarked, isForeign, onOwn, onForeign }: PopupWatch): void {
  const { open } = window;
  window.open = (address, target, features) => {
    const popup = open.call(window, address, target, features);
    const url = new URL(address ?? '', document.baseURI).href;
    // Null: it was not allowed, or has no opener.
    if (popup && popup.top === popup && popup !== window.top && !signal.aborted) {
      // An empty one is how sign-in libraries begin.
      if (!address || isForeign(url)) onForeign(url);
      else {
        onOwn(url);
        void whenElsewhere(popup, isMarked, signal).then((left) => left && onForeign(url));
      }
    }
    return popup;
  };
  // What `open(…)` in an attribute of an element calls.
  const writeDocument = document.open.bind(document);
  document.open = ((...given: Parameters<typeof open>) =>
    given.length > 2 ? window.open(...given) : writeDocument()) as typeof document.open;
  const lookAtLink = ({ target }: Event): void => {
    const link = target instanceof Element && target.closest<HTMLAnchorElement>('a[target]');
    if (!link || !isForeign(link.href) || /^_(self|top|parent)$|^$/.test(link.target)) return;
    const keepsOpener = link.target === '_blank' ? /\bopener\b/ : /^(?!.*\bno(opener|referrer)\b)/;
    const isFrame = document.getElementsByName(link.target).length > 0;
    if (keepsOpener.test(link.rel) && !isFrame) onForeign(link.href);
  };
  addEventListener('click', lookAtLink, { capture: true, signal });
}

/** Whether a popup goes to another origin before it is closed. */
async function whenElsewhere(popup: Window, isMarked: boolean, signal: AbortSignal): Promise<boolean> {
  const opened = performance.now();
  while (!popup.closed && !signal.aborted) {
    if (isElsewhere(popup)) return true;
    await delay(POLL_INTERVAL_MS);
  }
  return isMarked && popup.closed && performance.now() - opened < LOST_MS;
}
