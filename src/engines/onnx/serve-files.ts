import { env } from '@huggingface/transformers';

import type { ReadFile } from './weight-files.ts';

/** Makes transformers.js read a model's files from `read`. The setting is global to this thread, which runs one model. */
export function serveFiles(name: string, read: ReadFile): void {
  env.useWasmCache = false;
  env.useBrowserCache = false;
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.useCustomCache = true;
  env.customCache = {
    /** Answers requests for `/models/<variant>/<file>`. */
    async match(request: string): Promise<Response | undefined> {
      const at = request.indexOf(`/${name}/`);
      const blob = at < 0 ? null : await read(request.slice(at + name.length + 2));
      return blob ? new Response(blob, { headers: { 'content-length': String(blob.size) } }) : undefined;
    },
    put: async () => undefined,
  };
  env.fetch = async () => new Response(null, { status: 404 });
}
