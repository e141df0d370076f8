import { env, LogLevel } from '@huggingface/transformers';

import { type Runtime, wasmOptions } from './wasm-options.ts';
import type { ReadFile } from './weight-files.ts';

/** Sets up transformers.js for this thread, which runs one model. @param read reads the model's files */
export function configure(name: string, runtime: Runtime, read: ReadFile): void {
  Object.assign(env.backends.onnx.wasm ?? {}, wasmOptions(runtime));
  env.logLevel = LogLevel.ERROR;
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
