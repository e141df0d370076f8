import { fault, ok, warning, type Finding } from './finding.ts';
import { isFound, isPage, type Answer } from './look.ts';

export function examinePage(page: Answer): Finding[] {
  const { href } = page.url;
  if (!isFound(page) || !isPage(page)) {
    const what = isFound(page)
      ? `is ${page.type || 'of no type'}, not a page of HTML`
      : `answers ${page.status}`;
    return [fault(`${href} ${what}.`, 'Name the address of a page that starts localtext.')];
  }
  return [secureContext(page.url), isolation(page), ...contentSecurityPolicy(page)];
}

function secureContext({ protocol, hostname, origin }: URL): Finding {
  const local = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  return protocol === 'https:' || local
    ? ok('Browsers take the address for secure.')
    : fault(
        `${origin} is not https: browsers run no service worker there, and start() fails with insecure_context.`,
        'Serve the site over https. (localhost needs none.)',
      );
}

function isolation({ headers }: Answer): Finding {
  const opener = headers.get('cross-origin-opener-policy')?.trim() ?? null;
  const embedder = headers.get('cross-origin-embedder-policy')?.trim() ?? null;
  const isolates = embedder === 'require-corp' || embedder === 'credentialless';
  if (opener === 'same-origin' && isolates) return ok('Pages are cross-origin isolated: WASM has threads.');
  const send =
    'Send `Cross-Origin-Opener-Policy: same-origin` and `Cross-Origin-Embedder-Policy: require-corp` with every page and script.';
  // The service worker leaves pages alone that have this header.
  if (embedder !== null)
    return fault(
      `The page's headers (COOP ${opener ?? 'none'}, COEP ${embedder}) do not isolate it: WASM has one thread.`,
      send,
    );
  return warning(
    "The page's headers do not isolate it: on the first visit WASM has one thread. From the second on, localtext's own service worker adds the headers; a site's own worker does not.",
    send,
  );
}

function contentSecurityPolicy({ headers }: Answer): Finding[] {
  const policy = headers.get('content-security-policy');
  if (policy === null) return [];
  const directives = new Map(
    policy.split(';').map((each): [string, string[]] => {
      const [name = '', ...sources] = each.trim().split(/\s+/);
      return [name.toLowerCase(), sources];
    }),
  );
  const sources = (...names: string[]): string[] | undefined =>
    names.map((name) => directives.get(name)).find((found) => found !== undefined);
  const findings: Finding[] = [];
  const scripts = sources('script-src', 'default-src');
  if (scripts && !scripts.includes("'wasm-unsafe-eval'") && !scripts.includes("'unsafe-eval'"))
    findings.push(
      fault(
        "The page's Content-Security-Policy forbids WebAssembly.",
        "Add 'wasm-unsafe-eval' to script-src.",
      ),
    );
  for (const [what, list] of [
    ['connect-src', sources('connect-src', 'default-src')],
    ['worker-src', sources('worker-src', 'child-src', 'script-src', 'default-src')],
  ] as const)
    if (list && !list.some((source) => source === "'self'" || source === '*'))
      findings.push(
        fault(
          `The page's Content-Security-Policy blocks the site's own origin by ${what}.`,
          `Add 'self' to ${what}.`,
        ),
      );
  return findings.length > 0
    ? findings
    : [ok("The page's Content-Security-Policy allows what localtext does.")];
}
