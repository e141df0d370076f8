import { type Answer, isFound, isHtml, fault, type Finding, ok, warning, hostAdvice } from './answers.ts';

type Directives = Map<string, string[]>;

/**
 * The page's policies: the header, which may hold several, and those in its own HTML. Each of them must allow
 * what localtext does.
 */
export function policiesOf(headers: Headers, html: string): string[] {
  const inPage = [...html.matchAll(/<meta\b[^<>]*>/gi)]
    .map(([tag]) => tag)
    .filter((tag) => /http-equiv\s*=\s*["']?content-security-policy["'\s>]/i.test(tag))
    .map((tag) => /\bcontent\s*=\s*(?:"([^"]*)"|'([^']*)')/i.exec(tag))
    .map((found) => unescaped(found?.[1] ?? found?.[2] ?? ''));
  const header = headers.get('content-security-policy')?.split(',') ?? [];
  return [...header, ...inPage].filter((policy) => policy.trim() !== '');
}

const unescaped = (text: string): string => text.replaceAll(/&#0*39;|&#x27;|&apos;/gi, "'");

/** @param models folder with the weights, when it is of another origin */
export function examinePolicy(policy: string, what: string, models: URL | null): Finding[] {
  const directives = parse(policy);
  const findings: Finding[] = [];
  const blocked = (text: string, fix: string): unknown =>
    findings.push(fault(`${what}'s Content-Security-Policy ${text}`, fix));
  const scripts = sources(directives, 'script-src', 'default-src');
  if (scripts && !scripts.includes("'wasm-unsafe-eval'") && !scripts.includes("'unsafe-eval'"))
    blocked('forbids WebAssembly.', "Add 'wasm-unsafe-eval' to script-src.");
  const connect = sources(directives, 'connect-src', 'default-src');
  const workers = sources(directives, 'worker-src', 'child-src', 'script-src', 'default-src');
  for (const [name, list, why] of [
    ['script-src', scripts, 'the engines import a script'],
    ['connect-src', connect, 'requests to /v1 and for weights'],
    ['worker-src', workers, 'the service worker, the engine and its threads'],
  ] as const)
    if (list && !list.some((source) => source === "'self'" || source === '*'))
      blocked(`blocks the site's own origin by ${name} (${why}).`, `Add 'self' to ${name}.`);
  if (models && connect && !allows(connect, models))
    blocked(`blocks the weights at ${models.origin} by connect-src.`, `Add ${models.origin} to connect-src.`);
  if (refusesTrustedType(directives))
    blocked(
      'requires Trusted Types and does not allow the policy `localtext`: no worker starts.',
      'Add localtext to trusted-types.',
    );
  return findings;
}

function refusesTrustedType(directives: Directives): boolean {
  if (!directives.get('require-trusted-types-for')?.includes("'script'")) return false;
  const policies = directives.get('trusted-types');
  return policies !== undefined && !policies.includes('localtext') && !policies.includes('*');
}

function parse(policy: string): Directives {
  const directives: Directives = new Map();
  for (const each of policy.split(';')) {
    const [name = '', ...list] = each.trim().split(/\s+/);
    // Browsers use the first of two equal directives.
    if (name && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), list);
  }
  return directives;
}

const sources = (directives: Directives, ...names: string[]): string[] | undefined =>
  names.map((name) => directives.get(name)).find((found) => found !== undefined);

const allows = (list: string[], { origin, host, protocol }: URL): boolean =>
  list.some((source) => {
    if (source === '*' || source === protocol) return true;
    const [, scheme, name = ''] = /^(?:(https?:)\/\/)?([^/']+)/.exec(source) ?? [];
    if (scheme !== undefined && scheme !== protocol) return false;
    return (
      source.startsWith(origin) || name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)))
    );
  });

/** @param models folder with the weights, when it is of another origin */
export function examinePage(page: Answer & { text: string }, models: URL | null = null): Finding[] {
  const { href } = page.url;
  if (!isFound(page) || !isHtml(page)) {
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

/** The header without its parameters, such as `report-to`. */
const valueOf = (headers: Headers, name: string): string | null =>
  headers.get(name)?.replace(/;.*/, '').trim() ?? null;

function isolation({ headers }: Answer): Finding {
  const opener = valueOf(headers, 'cross-origin-opener-policy');
  const embedder = valueOf(headers, 'cross-origin-embedder-policy');
  const isolates = embedder === 'require-corp' || embedder === 'credentialless';
  if (opener === 'same-origin' && isolates) return ok('Pages are cross-origin isolated: WASM has threads.');
  const advice = hostAdvice(headers);
  const send = `Send \`Cross-Origin-Opener-Policy: same-origin\` and \`Cross-Origin-Embedder-Policy: require-corp\` with every page and script.${advice}`;
  // The service worker does not change pages that have one of these headers. A site may have chosen its COOP
  // for its popups.
  const hasOwn = embedder !== null || (opener ?? 'same-origin') !== 'same-origin';
  const unless = hasOwn
    ? ''
    : ", unless `isolation` of the Vite plugin or of `start()` names the page's path";
  const text = `The page's headers (COOP ${opener ?? 'none'}, COEP ${embedder ?? 'none'}) do not isolate it: WASM has one thread${unless}.`;
  return embedder === null ? warning(text, send) : fault(text, send);
}

function contentSecurityPolicy(page: Answer & { text: string }, models: URL | null): Finding[] {
  const policies = policiesOf(page.headers, page.text);
  if (policies.length === 0) return [];
  const findings = policies.flatMap((policy) => examinePolicy(policy, 'The page', models));
  return findings.length > 0
    ? findings
    : [ok("The page's Content-Security-Policy allows what localtext does.")];
}
