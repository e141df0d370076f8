import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { isUtf8 } from 'node:buffer';

import { COPIES } from './made-files.ts';

/**
 * `build`: written by the Vite plugin. A page whose engine cannot start compares it with the server's, to see
 * whether the site has a later build. `page`: written by `localtext init`. Frameworks change a page's address
 * without loading the page, so that comparison would be with another page's.
 */
type MarkName = 'build' | 'page';

const TAG = /<meta name="localtext-(build|page)" content="([\w-]+)"[^>]*>/;

/**
 * The page with a mark of its content in its head: hosts that add scripts to pages or minify them leave it in
 * place.
 */
export function markPage(html: string, name: MarkName): string {
  const unmarked = html.replace(TAG, '');
  const start = /<head(\s[^>]*)?>/i.exec(unmarked) ?? /<!doctype[^>]*>/i.exec(unmarked);
  if (!start) return html;
  const mark = createHash('sha256').update(unmarked).digest('hex').slice(0, 16);
  const at = start.index + start[0].length;
  return `${unmarked.slice(0, at)}<meta name="localtext-${name}" content="${mark}">${unmarked.slice(at)}`;
}

/**
 * Texts that tell a page of this build from others: the mark of `markPage()`, else the names with a hash that
 * the page loads. The end tag is one more: a page that was cut lacks it.
 */
export function marksOf(html: string): string[] {
  const [, , mark] = TAG.exec(html) ?? [];
  const marks = mark === undefined ? namesIn(html) : [mark];
  const [end] = /<\/html>(?=\s*$)/i.exec(html) ?? [];
  return marks.length > 0 && end ? [...marks, end] : marks;
}

function namesIn(html: string): string[] {
  // Bounded, and from the last slash on: a `data:` URL may have megabytes.
  const name =
    /(?:src|href)="(?:[^"]*[^"\w.-])?([\w.-]{0,99}[-._](?=[\w-]{0,99}\d)[\w-]{8,99}\.(?:m?js|css))"/g;
  return [...new Set([...html.matchAll(name)].map(([, found = '']) => found))];
}

/**
 * The content of a page that a bundler has made, with a mark: an earlier build's page may load files of the same
 * names. Pages that load no such files are identified by their hash. A page with compressed copies gets no mark:
 * hosts serve the copies, which would lack it.
 */
export function withMark(path: string, content: Buffer): Buffer {
  const html = content.toString();
  const needsNone = TAG.exec(html)?.[1] === 'build' || marksOf(html).length === 0;
  if (needsNone || !isUtf8(content) || COPIES.some((end) => existsSync(path + end))) return content;
  return Buffer.from(markPage(html, 'page'));
}
