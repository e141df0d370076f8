/** Settings that a host may need. */
export type HostNeed = 'isolation headers' | 'script type' | 'wasm type' | 'no fallback page';

interface Host {
  name: string;
  is(headers: Headers): boolean;
  advice: Record<HostNeed, string>;
}

const server = (pattern: RegExp) => (headers: Headers) => pattern.test(headers.get('server') ?? '');

const HEADERS_FILE =
  'a file `_headers` in the published folder: `/*`, and below it, indented, `Cross-Origin-Opener-Policy: same-origin` and `Cross-Origin-Embedder-Policy: require-corp`';

const HOSTS: Host[] = [
  {
    name: 'nginx',
    is: server(/nginx|openresty/i),
    advice: {
      'isolation headers':
        '`add_header Cross-Origin-Opener-Policy same-origin always; add_header Cross-Origin-Embedder-Policy require-corp always;`',
      'script type': '`include mime.types;` in the `http` block, which has `application/javascript js;`',
      'wasm type': '`application/wasm wasm;` in mime.types',
      'no fallback page':
        '`location /localtext/ { try_files $uri =404; } location /models/ { try_files $uri =404; }` before the fallback',
    },
  },
  {
    name: 'Apache',
    is: server(/apache/i),
    advice: {
      'isolation headers':
        '`Header always set Cross-Origin-Opener-Policy same-origin` and `Header always set Cross-Origin-Embedder-Policy require-corp` (mod_headers) in `.htaccess`',
      'script type': '`AddType text/javascript .js` in `.htaccess`',
      'wasm type': '`AddType application/wasm .wasm` in `.htaccess`',
      'no fallback page': '`RewriteRule ^(localtext|models)/ - [L]` before the rule of the fallback',
    },
  },
  {
    name: 'Netlify',
    is: (headers) => server(/netlify/i)(headers) || headers.has('x-nf-request-id'),
    advice: {
      'isolation headers': HEADERS_FILE,
      'script type': 'in `_headers`: `/*.js`, and below it `Content-Type: text/javascript`',
      'wasm type': 'in `_headers`: `/*.wasm`, and below it `Content-Type: application/wasm`',
      'no fallback page':
        'in `_redirects`, before `/*`: `/localtext/* /404.html 404` and `/models/* /404.html 404`',
    },
  },
  {
    name: 'Vercel',
    is: (headers) => server(/vercel/i)(headers) || headers.has('x-vercel-id'),
    advice: {
      'isolation headers':
        'in vercel.json: `"headers": [{ "source": "/(.*)", "headers": [{ "key": "Cross-Origin-Opener-Policy", "value": "same-origin" }, { "key": "Cross-Origin-Embedder-Policy", "value": "require-corp" }] }]`',
      'script type':
        'in vercel.json: `"headers": [{ "source": "/(.*).js", "headers": [{ "key": "Content-Type", "value": "text/javascript" }] }]`',
      'wasm type':
        'in vercel.json: `"headers": [{ "source": "/(.*).wasm", "headers": [{ "key": "Content-Type", "value": "application/wasm" }] }]`',
      'no fallback page':
        'in vercel.json: `"rewrites": [{ "source": "/((?!localtext/|models/).*)", "destination": "/" }]`',
    },
  },
  {
    name: 'GitHub Pages',
    is: server(/github\.com/i),
    advice: {
      'isolation headers':
        "no setting: it sends no headers of a site. localtext's service worker adds them from the second visit on; `start({ isolation: 'reload' })` reloads the first one for it",
      'script type': 'no setting: it takes the type from the ending, so name the file `.js`',
      'wasm type': 'no setting: it takes the type from the ending, so name the file `.wasm`',
      'no fallback page':
        'no setting: only a page 404.html is answered, with status 404; look for a proxy before it',
    },
  },
];

/** How to configure the detected host, as a sentence. Empty for unknown hosts. */
export function hostAdvice(headers: Headers, need: HostNeed): string {
  const host = HOSTS.find((each) => each.is(headers));
  return host === undefined ? '' : ` ${host.name}: ${host.advice[need]}.`;
}
