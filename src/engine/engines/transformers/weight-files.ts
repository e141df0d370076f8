import { env } from '@huggingface/transformers';

import type { TransformersVariant } from '../../../catalog/catalog.ts';
import type { EngineContext } from '../../engine.ts';

type Source = (name: string) => Promise<Blob | null>;

/** By the name under which a model is asked for. */
const sources = new Map<string, Source>();

/**
 * Lets transformers.js find a variant's files under the variant's name, in the store; until the function returned is
 * called. What the catalog does not list does not exist: nothing is fetched.
 */
export function serveFiles(variant: TransformersVariant, context: EngineContext): () => void {
  const folder = commonFolder(variant);
  const paths = new Set(variant.files.map(({ path }) => path));
  const source: Source = async (name) => {
    // The graph names its tensors' file so; they lie in the safetensors file as it is.
    const names = name === 'onnx/model.onnx_data' ? [name, 'model.safetensors'] : [name];
    const path = names.map((each) => folder + each).find((each) => paths.has(each));
    return path ? await context.file(path) : null;
  };
  sources.set(variant.name, source);
  env.useCustomCache = true;
  env.customCache = { match: answer, put: async () => undefined };
  env.fetch = async () => new Response(null, { status: 404 });
  return () => {
    if (sources.get(variant.name) === source) sources.delete(variant.name);
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

function commonFolder({ files }: TransformersVariant): string {
  const config = files.find(({ path }) => /(^|\/)config\.json$/.test(path));
  return config ? config.path.slice(0, -'config.json'.length) : '';
}
