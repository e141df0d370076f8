/**
 * Hosts with a section of this name in docs/hosting.md, detected by the `server` header or another header.
 */
const HOSTS: [name: string, server: RegExp, header?: string][] = [
  ['nginx', /nginx|openresty/i],
  ['Apache', /apache/i],
  ['Netlify', /netlify/i, 'x-nf-request-id'],
  ['Vercel', /vercel/i, 'x-vercel-id'],
  ['GitHub Pages', /github\.com/i],
];

/** Names the section with the settings of the host, as a sentence. Empty for unknown hosts. */
export function hostAdvice(headers: Headers): string {
  const sent = headers.get('server') ?? '';
  const isHost = ([, server, header]: (typeof HOSTS)[number]): boolean =>
    server.test(sent) || (header !== undefined && headers.has(header));
  const [name] = HOSTS.find(isHost) ?? [];
  if (name === undefined) return '';
  return ` Settings for ${name}: docs/hosting.md#${name.toLowerCase().replace(' ', '-')}`;
}
