import { createServer, request, type ServerResponse } from 'node:http';

import { listen } from '../listen.ts';

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, content-type',
  'access-control-expose-headers': 'retry-after',
};

/** What happens to a request for a completion. */
export type Fault =
  | { type: 'none' }
  | { type: 'status'; status: number; headers?: Record<string, string> }
  /** The connection is broken: at once, or after so many bytes of the reply. */
  | { type: 'break'; afterBytes: number }
  /** Answers like a server that was not set up for pages of other origins. */
  | { type: 'no CORS' };

/** Stands before a server, and does to its answers what servers and networks do. */
export async function startFaultProxy(target: string) {
  const proxy = {
    url: '',
    fault: { type: 'none' } as Fault,
    requests: 0,
    completions: 0,
  };
  const server = createServer((asked, answer) => {
    const { fault } = proxy;
    proxy.requests++;
    if (fault.type !== 'no CORS')
      for (const [name, value] of Object.entries(CORS)) answer.setHeader(name, value);
    if (asked.method === 'OPTIONS') return answer.end();
    const isCompletion = asked.url?.endsWith('/completions') ?? false;
    if (isCompletion) proxy.completions++;
    if (isCompletion && fault.type === 'status') return fail(answer, fault);
    if (isCompletion && fault.type === 'break' && fault.afterBytes === 0) return answer.destroy();
    const headers = { ...asked.headers, host: new URL(target).host };
    const forward = request(target + (asked.url ?? '/'), { method: asked.method, headers }, (response) => {
      const { 'content-type': type } = response.headers;
      answer.writeHead(response.statusCode ?? 500, type === undefined ? {} : { 'content-type': type });
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        answer.write(chunk);
        bytes += chunk.length;
        if (!isCompletion || fault.type !== 'break' || bytes < fault.afterBytes) return;
        response.pause();
        // What was sent must have been read: a connection that is reset takes it along.
        setTimeout(() => answer.destroy(), 300);
      });
      response.on('end', () => answer.end());
    });
    forward.on('error', () => answer.destroy());
    answer.on('close', () => forward.destroy());
    return asked.pipe(forward);
  });
  proxy.url = await listen(server);
  return proxy;
}

function fail(answer: ServerResponse, { status, headers = {} }: Extract<Fault, { type: 'status' }>): void {
  answer.writeHead(status, { 'content-type': 'application/json', ...headers });
  answer.end(JSON.stringify({ error: { message: `The server answered ${status}.`, code: null } }));
}
