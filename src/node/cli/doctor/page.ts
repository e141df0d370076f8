import { examinePolicy, policiesOf } from './content-security.ts';
import { fault, ok, warning, type Finding } from './finding.ts';
import { hostAdvice } from './hosts.ts';
import { isFound, isPage, type Answer } from './look.ts';

/** @param models folder with the weights, when it is of another origin */
export function examinePage(page: Answer & { text: string }, models: URL | null = null): Finding[] {
  const { href } = page.url;
  if (!isFound(page) || !isPage(page)) {
    const what = isFound(page)
      ? `is ${page.type || 'of no type'}, not a page of HTML`
      : `answers ${page.status}`;
    return [fault(`${href} ${what}.`, 'Give the address of a page that starts localtext.')];
  }
  return [secureContext(page.url), isolation(page), ...contentSecurityPolicy(page, models)];
}

function secureContext({ protocol, hostname, origin }: URL): Finding {
  const local = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  return protocol === 'https:' || local
    ? ok('The page is a secure context.')
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
  const advice = hostAdvice(headers, 'isolation headers');
  const send = `Send \`Cross-Origin-Opener-Policy: same-origin\` and \`Cross-Origin-Embedder-Policy: require-corp\` with every page and script.${advice}`;
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

function contentSecurityPolicy(page: Answer & { text: string }, models: URL | null): Finding[] {
  const policies = policiesOf(page.headers, page.text);
  if (policies.length === 0) return [];
  const findings = policies.flatMap((policy) => examinePolicy(policy, 'The page', models));
  return findings.length > 0
    ? findings
    : [ok("The page's Content-Security-Policy allows what localtext does.")];
}
