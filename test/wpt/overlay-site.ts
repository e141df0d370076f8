import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { extname, join } from 'node:path';
import { listen } from '../support/listen.ts';

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
};

/** Serves the files of a folder, and everything else from a site, at one origin. */
export async function overlaySite(folder: string, port: number): Promise<string> {
  const server = createServer(async (asked, answer) => {
    const { pathname } = new URL(asked.url ?? '/', 'http://localhost');
    const file = join(folder, decodeURIComponent(pathname));
    const found = pathname !== '/' && (await stat(file).catch(() => null))?.isFile();
    if (found && file.startsWith(folder)) {
      answer.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        'cross-origin-embedder-policy': 'require-corp',
        'cross-origin-resource-policy': 'same-origin',
      });
      createReadStream(file).pipe(answer);
      return;
    }
    const { method, url, headers } = asked;
    const forwarded = request({ host: 'localhost', port, method, path: url, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    forwarded.on('error', () => answer.destroy());
    asked.pipe(forwarded);
  });
  return listen(server, 'localhost');
}
