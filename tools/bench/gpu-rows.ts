import { onGpu } from './gpu-stage.ts';
import type { EmbeddingTexts } from './page/on-device.ts';
import { ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

/** Measured when they are asked for by name, or by `--gpu`. */
export const GPU_ROWS = ['gpu-embeddings', 'gpu-chat'];

const HOW = 'Run it on a machine with a GPU that Chromium supports.';
const DECODED = 64;

/** The same weights in two browsers, in turn: on the GPU, and on WASM. */
export const gpuEmbeddings = ({ page: onWasm, site, rounds }: Stage): Promise<Row[]> =>
  onGpu(site, HOW, async ({ page: onWebGpu }) => {
    const embed = (page: Stage['page'], device: 'wasm' | 'webgpu', which: EmbeddingTexts): Promise<number> =>
      page.evaluate(([where, what]) => window.bench.calls.embedOn(where, what), [device, which] as const);
    const rows: Row[] = [];
    for (const [which, texts] of [
      ['short', '32 short texts'],
      ['mixed', '256 texts of 3 to 300 tokens'],
    ] as const) {
      const wasm: number[] = [];
      const webgpu: number[] = [];
      for (let round = 0; round <= rounds; round++) {
        wasm.push(await embed(onWasm, 'wasm', which));
        webgpu.push(await embed(onWebGpu, 'webgpu', which));
      }
      // The first compiles shaders and starts threads.
      const [overWasm, overWebGpu] = [wasm.slice(1), webgpu.slice(1)];
      rows.push(
        ratio(
          `embeddings of ${texts}: WebGPU ÷ WASM`,
          { 'WASM, ms': overWasm },
          { 'WebGPU, ms': overWebGpu },
        ),
      );
    }
    return rows;
  });

/** llama.cpp on the GPU and on WASM: by chats at once, and by the length of a prompt. */
export const gpuChat = ({ page: onWasm, site, rounds }: Stage): Promise<Row[]> =>
  onGpu(site, HOW, async ({ page: onWebGpu, gpu }) => {
    /** One value a round of each; the first round compiles shaders and starts threads, and does not count. */
    const inTurn = async (call: (page: Stage['page'], salt: string) => Promise<number>) => {
      const wasm: number[] = [];
      const webgpu: number[] = [];
      for (let round = 0; round <= rounds; round++) {
        wasm.push(await call(onWasm, `w${round}`));
        webgpu.push(await call(onWebGpu, `g${round}`));
      }
      return [wasm.slice(1), webgpu.slice(1)] as const;
    };
    const rows: Row[] = [];
    for (const [chats, name] of [
      [1, 'one chat'],
      [4, 'four chats at once'],
    ] as const) {
      const [wasm, webgpu] = await inTurn((page) =>
        page.evaluate(
          ([count, tokens]) =>
            count === 1
              ? window.bench.calls.decodeOurs(tokens)
              : window.bench.calls.decodeTogether(count, tokens),
          [chats, DECODED] as const,
        ),
      );
      rows.push(
        ratio(
          `decode of a GGUF, ${name}: WebGPU ÷ WASM`,
          { 'WebGPU, tokens/s': webgpu },
          { 'WASM, tokens/s': wasm },
        ),
      );
    }
    for (const tokens of [100, 400, 2000]) {
      const [wasm, webgpu] = await inTurn((page, salt) =>
        page.evaluate(([id, count]) => window.bench.calls.prefillOurs(id, count), [salt, tokens] as const),
      );
      rows.push(
        ratio(
          `prefill of a GGUF, ${tokens} tokens: WebGPU ÷ WASM`,
          { 'WASM, ms': wasm },
          { 'WebGPU, ms': webgpu },
        ),
      );
    }
    const fingerprint = await onWebGpu.evaluate(() => window.bench.calls.chatFingerprint());
    if (!fingerprint.endsWith('-webgpu'))
      throw new Error(`llama.cpp runs as ${fingerprint}: its kernels need shader-f16, which ${gpu} lacks.`);
    return rows;
  });
