import { EngineError } from '../../engine-error.ts';

/** Found to be good in this worker's life. */
const good = new Set<string>();

/**
 * Resolves when the file at the URL is WASM that this browser can run. wllama itself waits for ever for one that is
 * missing or broken.
 * @throws EngineError `model_load_failed`
 */
export async function checkWasm(url: string, signal: AbortSignal): Promise<void> {
  if (good.has(url)) return;
  let response: Response;
  try {
    response = await fetch(url, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw failed(url, 'could not be fetched', error);
  }
  if (!response.ok) throw failed(url, `could not be had: the server answered ${response.status}`);
  const bytes = await response.arrayBuffer();
  const [a, b, c, d] = new Uint8Array(bytes, 0, Math.min(4, bytes.byteLength));
  if (a !== 0 || b !== 0x61 || c !== 0x73 || d !== 0x6d) throw failed(url, 'is not a WebAssembly file');
  if (!WebAssembly.validate(bytes)) throw failed(url, 'is cut short, or too new for this browser');
  good.add(url);
}

function failed(url: string, how: string, cause?: unknown): EngineError {
  const { pathname } = new URL(url);
  return new EngineError(
    {
      code: 'model_load_failed',
      message: `The engine's file ${pathname.split('/').at(-1)} ${how}. Put the files of the wasm folder back in place, or name it by wasmUrl.`,
    },
    cause,
  );
}
