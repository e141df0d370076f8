import { env } from '@huggingface/transformers';

import type { TransformersVariant } from '../../../catalog/catalog.ts';
import type { EngineContext } from '../../engine.ts';
import { folderOf, graphOf } from './transformers-files.ts';

type Source = (name: string) => Promise<Blob | null>;

/** By the name under which a model is asked for. */
const sources = new Map<string, Source>();

export interface Served {
  stop(): void;
  /** Rejects when a file cannot be fetched: transformers.js waits forever for some of them. */
  failed: Promise<never>;
}

/**
 * Serves a variant's files to transformers.js from the store, under the variant's name. A file that the catalog does not
 * list does not exist: nothing is fetched.
 */
export function serveFiles(variant: TransformersVariant, context: EngineContext): Served {
  const folder = folderOf(variant);
  const paths = new Set(variant.files.map(({ path }) => path));
  const dataOfGraph = `onnx/${graphOf(variant)}.onnx_data`;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined);
  const stop = serve(variant.name, async (name) => {
    // The graph's name for its tensors' file; it may be a safetensors file.
    const names = name === dataOfGraph ? [name, 'model.safetensors'] : [name];
    const path = names.map((each) => folder + each).find((each) => paths.has(each));
    if (path === undefined) return null;
    try {
      return await context.file(path);
    } catch (error) {
      fail(error);
      throw error;
    }
  });
  return { stop, failed };
}

/** One file of a model that is in memory. @returns what stops serving it */
export function serveBlob(name: string, file: string, blob: Blob): () => void {
  return serve(name, async (asked) => (asked === file ? blob : null));
}

function serve(name: string, source: Source): () => void {
  sources.set(name, source);
  env.useCustomCache = true;
  env.customCache = { match: answer, put: async () => undefined };
  env.fetch = async () => new Response(null, { status: 404 });
  return () => {
    if (sources.get(name) === source) sources.delete(name);
  };
}

/** Asked for as `/models/<variant>/<file>`. */
async function answer(request: string): Promise<Response | undefined> {
  for (const [name, source] of sources) {
    const at = request.indexOf(`/${name}/`);
    const blob = at < 0 ? null : await source(request.slice(at + name.length + 2));
    if (blob) return new Response(blob, { headers: { 'content-length': String(blob.size) } });
  }
  return undefined;
}
