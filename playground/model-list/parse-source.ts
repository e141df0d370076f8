import type { HubFile } from '../../src/index.ts';

const HUB_HOSTS = new Set(['huggingface.co', 'www.huggingface.co', 'hf.co']);
const REPOSITORY = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;

/** Parses typed or pasted text as a repository of the model hub or as a file's URL. Null if it is neither. */
export function parseSource(text: string): HubFile | { url: string } | null {
  const trimmed = text.trim();
  if (REPOSITORY.test(trimmed)) return { hub: trimmed };
  if (!/^https?:/i.test(trimmed) || !URL.canParse(trimmed)) return null;
  const { hostname, pathname, href } = new URL(trimmed);
  if (!HUB_HOSTS.has(hostname)) return { url: href };
  const [owner = '', name = '', kind, revision, ...path] = pathname.split('/').slice(1).map(decode);
  const hub = `${owner}/${name}`;
  if (!REPOSITORY.test(hub)) return null;
  if (revision === undefined || (kind !== 'blob' && kind !== 'resolve')) return { hub };
  return { hub, revision, file: path.join('/') };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
