import { onGpu } from './gpu-stage.ts';
import type { EmbeddingTexts } from './page/on-device.ts';
import { inTurn, ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

/** Measured when they are asked for by name, or by `--gpu`. */
export const GPU_ROWS = ['gpu-embeddings', 'gpu-chat', 'web-llm'];

const HOW = 'Run it on a machine with a GPU that Chromium supports.';
const DECODED = 64;

/** The same weights in two browsers, in turn: on the GPU, and on WASM. */
export const gpuEmbeddings = ({ page: onWasm, site, rounds }: Stage): Promise<Row[]> =>
  onGpu(site, HOW, async ({ page: onWebGpu }) => {
    const embed = (page: Stage['page'], backend: 'wasm' | 'webgpu', which: EmbeddingTexts): Promise<number> =>
      page.evaluate(([where, what]) => window.bench.calls.embedOn(where, what), [backend, which] as const);
    const rows: Row[] = [];
    for (const [which, texts] of [
      ['short', '32 short texts'],
      ['mixed', '256 texts of 3 to 300 tokens'],
    ] as const) {
      // The first round compiles shaders and starts threads.
      const sides = {
        'WASM, ms': () => embed(onWasm, 'wasm', which),
        'WebGPU, ms': () => embed(onWebGpu, 'webgpu', which),
      };
      const figures = await inTurn(rounds, sides, true);
      rows.push(ratio(`embeddings of ${texts}: WebGPU ÷ WASM`, figures));
    }
    return rows;
  });

/** llama.cpp on the GPU and on WASM: by chats at once, and by the length of a prompt. */
export const gpuChat = ({ page: onWasm, site, rounds }: Stage): Promise<Row[]> =>
  onGpu(site, HOW, async ({ page: onWebGpu, gpu }) => {
    const rows: Row[] = [];
    for (const [chats, name] of [
      [1, 'one chat'],
      [4, 'four chats at once'],
    ] as const) {
      const decode = (page: Stage['page']) => () =>
        page.evaluate(
          ([count, tokens]) =>
            count === 1
              ? window.bench.calls.decodeOurs(tokens)
              : window.bench.calls.decodeTogether(count, tokens),
          [chats, DECODED] as const,
        );
      const sides = { 'WebGPU, tokens/s': decode(onWebGpu), 'WASM, tokens/s': decode(onWasm) };
      rows.push(ratio(`decode of a GGUF, ${name}: WebGPU ÷ WASM`, await inTurn(rounds, sides, true)));
    }
    for (const tokens of [100, 400, 2000]) {
      const prefill = (page: Stage['page'], salt: string) => (round: number) =>
        page.evaluate(([id, count]) => window.bench.calls.prefillOurs(id, count), [
          `${salt}${round}`,
          tokens,
        ] as const);
      const sides = { 'WASM, ms': prefill(onWasm, 'w'), 'WebGPU, ms': prefill(onWebGpu, 'g') };
      rows.push(
        ratio(`prefill of a GGUF, ${tokens} tokens: WebGPU ÷ WASM`, await inTurn(rounds, sides, true)),
      );
    }
    const fingerprint = await onWebGpu.evaluate(() => window.bench.calls.chatFingerprint());
    if (!fingerprint.endsWith('-webgpu'))
      throw new Error(`llama.cpp runs as ${fingerprint}: its kernels need shader-f16, which ${gpu} lacks.`);
    return rows;
  });
