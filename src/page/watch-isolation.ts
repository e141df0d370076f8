import {
  addStartedPaths,
  hasCredentialless,
  readIsolation,
  writeIsolation,
  type IsolationNeed,
} from '#database';
import { ISOLATED_MARK, scopeOf } from '#protocol';
import { delay } from '#base';

const TRIED = 'localtext:reloaded-for-isolation:';
const POLL_INTERVAL_MS = 250;
/**
 * An isolated page sees its popup as closed once that navigates to another origin. People take longer than
 * this to close a popup.
 */
const LOST_MS = 10_000;
const DAY_MS = 24 * 3600 * 1000;
const MAX_FAILING = 50;

const FRAMES = 'iframe, frame, object, embed';
const FILES = 'img, script, link[rel~=stylesheet], video, audio, source';

/**
 * Watches for features that cross-origin isolation breaks, and records them for the scope: the service worker
 * then leaves the headers of pages alone. In a page that is not isolated, frames and popups of other origins
 * are recorded before anything breaks.
 * @param onNeed called with each need that is seen, and with a need that is known already
 * @returns the need that is known now
 */
export async function watchIsolation(
  scopeUrl: string,
  signal: AbortSignal,
  onNeed: (need: IsolationNeed) => void,
): Promise<IsolationNeed | null> {
  const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const isMarked = page?.serverTiming?.some(({ name }) => name === ISOLATED_MARK) ?? false;
  // The host sends the headers: only the host can change them.
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
    // The file fails without the headers, too.
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
  /** Records a file that a browser without `credentialless` would not load. */
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
  // An element's `load` event does not reach the window.
  for (const type of ['load', 'error']) document.addEventListener(type, look, { capture: true, signal });
  document.querySelectorAll(FRAMES).forEach(lookAtFrame);
  document.querySelectorAll(FILES).forEach(lookAtFile);
  // This page is a popup of another site, which may communicate with it.
  if (opener && isElsewhere(opener as Window))
    note({ kind: 'popup', url: document.referrer || location.href });
  const addPaths = (...urls: string[]): Promise<void> =>
    addStartedPaths(
      scope,
      // Without `about:`, `blob:` and `data:`.
      new Set(urls.filter((url) => /^https?:/.test(url)).map((url) => new URL(url).pathname)),
    ).catch(warn);
  watchPopups({
    signal,
    isMarked,
    isForeign,
    // An isolated page also loses its own popup if that is not isolated.
    onOwn: (url) => void addPaths(url),
    onForeign: (url) => note({ kind: 'popup', url }),
  });
  // A single-page app shows others of its pages without a navigation.
  globalThis.navigation?.addEventListener('navigatesuccess', () => void addPaths(location.href), { signal });
  // A router may have changed the address already. Some browsers name the entry `document`.
  await addPaths(page?.name ?? '', location.href);
  return record.need;
}

/** Reloads a page that is not isolated, unless a reload in this tab has not helped. */
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

/** Whether a frame's page is of another origin, also after a redirect, or because it is sandboxed. */
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
    // Null: the popup was not allowed, or has no opener.
    if (popup && popup.top === popup && popup !== window.top && !signal.aborted) {
      // Sign-in libraries first open an empty popup.
      if (!address || isForeign(url)) onForeign(url);
      else {
        onOwn(url);
        void whenElsewhere(popup, isMarked, signal).then((isGone) => isGone && onForeign(url));
      }
    }
    return popup;
  };
  // An event handler attribute calls this function by `open(…)`.
  const writeDocument = document.open.bind(document);
  document.open = ((...args: Parameters<typeof open>) =>
    args.length > 2 ? window.open(...args) : writeDocument()) as typeof document.open;
  const lookAtLink = ({ target }: Event): void => {
    const link = target instanceof Element && target.closest<HTMLAnchorElement>('a[target]');
    if (!link || !isForeign(link.href) || /^_(self|top|parent)$|^$/.test(link.target)) return;
    const keepsOpener = link.target === '_blank' ? /\bopener\b/ : /^(?!.*\bno(opener|referrer)\b)/;
    const isFrame = document.getElementsByName(link.target).length > 0;
    if (keepsOpener.test(link.rel) && !isFrame) onForeign(link.href);
  };
  addEventListener('click', lookAtLink, { capture: true, signal });
}

/** Whether a popup goes to another origin before a person closes it. */
async function whenElsewhere(popup: Window, isMarked: boolean, signal: AbortSignal): Promise<boolean> {
  const opened = performance.now();
  while (!popup.closed && !signal.aborted) {
    if (isElsewhere(popup)) return true;
    await delay(POLL_INTERVAL_MS);
  }
  return isMarked && popup.closed && performance.now() - opened < LOST_MS;
}
