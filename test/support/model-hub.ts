import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

import { listen, stop } from './listen.ts';

/** A file of a repository: bytes, or a path on this machine. */
type Content = Buffer | string;

interface Repository {
  commit: string;
  files: Record<string, Content>;
  /** Its authors ask for consent. */
  gated?: boolean;
  /** What the hub says of its models. */
  info?: object;
}

/** Files in one answer of the list. */
const PAGE = 2;
const EXPOSED =
  'X-Repo-Commit,X-Error-Code,X-Error-Message,ETag,Link,Accept-Ranges,Content-Range,X-Linked-Size';

/**
 * A model hub on this machine. It answers as the public one does: the commit of a revision, the list of files in pages,
 * files by a redirect to another path with ranges, 401 with `X-Error-Code` for repositories that are gated or missing.
 */
export class ModelHub {
  readonly repositories = new Map<string, Repository>();
  /** Paths that were asked for, with the range: `/a/b bytes=0-5`. */
  readonly asked: string[] = [];
  readonly #server: Server;
  url = '';
  readonly #hashes = new Map<Content, string>();
  /** The n-th answer from a file, the first being 0, is that it is gone. */
  fails: (answer: number) => boolean = () => false;
  /** What is sent of a file; the list of files goes on describing the one that was published. */
  sends: (content: Content) => Content = (content) => content;
  /** Speed of each file. */
  bytesPerSecond = Infinity;
  #sent = 0;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(): Promise<ModelHub> {
    const hub = new ModelHub();
    hub.url = await listen(hub.#server, 'localhost');
    return hub;
  }

  stop(): Promise<void> {
    return stop(this.#server);
  }

  /** Publishes files at the given commit, else at one made of the repository's name. */
  publish(
    name: string,
    files: Record<string, Content>,
    options: Partial<Pick<Repository, 'commit' | 'gated' | 'info'>> = {},
  ): string {
    const { commit = createHash('sha1').update(name).digest('hex') } = options;
    this.repositories.set(name, { ...options, commit, files });
    return commit;
  }

  hashOf(content: Content): string {
    const known = this.#hashes.get(content);
    if (known !== undefined) return known;
    const bytes = typeof content === 'string' ? readFileSync(content) : content;
    const hash = createHash('sha256').update(bytes).digest('hex');
    this.#hashes.set(content, hash);
    return hash;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://hub');
    this.asked.push([pathname, request.headers.range].filter(Boolean).join(' '));
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-expose-headers', EXPOSED);
    if (request.method === 'OPTIONS') {
      response.writeHead(204, { 'access-control-allow-headers': 'range' }).end();
      return;
    }
    if (pathname === '/api/models') return json(response, []);
    const api = /^\/api\/models\/([^/]+\/[^/]+)\/(revision|tree)\/([^/]+)$/.exec(pathname);
    if (api) return this.#list(response, api, Number(searchParams.get('cursor') ?? 0));
    const file = /^\/(cdn\/)?([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(pathname);
    if (file) return this.#file(request, response, file);
    refuse(response, 404, 'EntryNotFound', 'Entry not found');
  }

  #find(response: ServerResponse, name: string, revision: string): Repository | null {
    const found = this.repositories.get(name);
    if (found && (revision === 'main' || revision === found.commit)) return found;
    if (found) refuse(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
    // Whether there is one, it does not tell people without an account.
    else refuse(response, 401, 'RepoNotFound', 'Invalid username or password.');
    return null;
  }

  #list(response: ServerResponse, [, name = '', what, revision = '']: RegExpExecArray, cursor: number): void {
    const repository = this.#find(response, name, revision);
    if (!repository) return;
    const { commit, files, gated = false, info } = repository;
    if (what === 'revision')
      return json(response, { id: name, sha: commit, gated: gated && 'manual', ...info });
    const entries = Object.entries(files).map(([path, content]) => {
      const size = typeof content === 'string' ? statSync(content).size : content.length;
      const entry = { type: 'file', oid: commit, size, path };
      // Small files are no large ones (LFS), and have no SHA-256 here.
      return /\.(md|json)$/.test(path)
        ? entry
        : { ...entry, lfs: { oid: this.hashOf(content), size, pointerSize: 134 } };
    });
    if (cursor + PAGE < entries.length) {
      const next = `https://hub.test/api/models/${name}/tree/${revision}?recursive=true&cursor=${cursor + PAGE}`;
      response.setHeader('link', `<${next}>; rel="next"`);
    }
    json(response, entries.slice(cursor, cursor + PAGE));
  }

  #file(
    request: IncomingMessage,
    response: ServerResponse,
    [path, cdn, name = '', revision = '', file = '']: RegExpExecArray,
  ): void {
    const repository = this.#find(response, name, revision);
    if (!repository) return;
    if (repository.gated) {
      const message = `Access to model ${name} is restricted. You must have access to it and be authenticated to access it. Please log in.`;
      return refuse(response, 401, 'GatedRepo', message);
    }
    const published = repository.files[decodeURIComponent(file)];
    if (published === undefined) return refuse(response, 404, 'EntryNotFound', 'Entry not found');
    if (cdn !== undefined && this.fails(this.#sent++)) return refuse(response, 410, 'EntryNotFound', 'Gone');
    if (cdn === undefined) {
      response.writeHead(302, { location: `/cdn${path}`, 'x-repo-commit': repository.commit }).end();
      return;
    }
    const content = this.sends(published);
    const size = typeof content === 'string' ? statSync(content).size : content.length;
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    const end = Math.min(last ? Number(last) : size - 1, size - 1);
    if (first !== undefined) response.setHeader('content-range', `bytes ${start}-${end}/${size}`);
    const headers = { etag: `"${this.hashOf(content)}"`, 'content-length': end - start + 1 };
    response.writeHead(first === undefined ? 200 : 206, headers);
    const body =
      typeof content === 'string'
        ? createReadStream(content, { start, end })
        : Readable.from([content.subarray(start, end + 1)]);
    body.on('error', () => response.destroy());
    const delayMs = (1000 * (end - start + 1)) / this.bytesPerSecond;
    if (delayMs === 0) body.pipe(response);
    else setTimeout(() => body.pipe(response), delayMs);
  }
}

function json(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'x-error-code': code, 'x-error-message': message });
  response.end(JSON.stringify({ error: message }));
}
