import { onGpu } from './gpu-stage.ts';
import type { EmbeddingTexts } from './page/on-device.ts';
import { quotients, type Row } from './row.ts';
import type { Stage } from './stage.ts';

/** Measured only when they are asked for by name. */
export const GPU_ROWS = ['gpu-embeddings', 'gpu-chat'];

const HOW = 'Run it on a machine with a GPU that Chromium supports.';
const DECODED = 64;

/** The same weights in two browsers, in turn: on the GPU, and on WASM. */
export const gpuEmbeddings = ({ page: onWasm, site, rounds }: Stage): Promise<Row[]> =>
  onGpu(site, HOW, async ({ page: onWebGpu, gpu }) => {
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
      rows.push({
        name: `embeddings of ${texts}: WebGPU ÷ WASM`,
        measures: `Texts a second of one request through /v1, in f32, in two browsers in turn. The GPU: ${gpu}.`,
        unit: 'ratio',
        values: quotients(overWasm, overWebGpu),
        detail: { 'WASM, ms': overWasm, 'WebGPU, ms': overWebGpu },
      });
    }
    return rows;
  });

/** llama.cpp on the GPU and on WASM. */
export const gpuChat = ({ page: onWasm, site, rounds }: Stage): Promise<Row[]> =>
  onGpu(site, HOW, async ({ page: onWebGpu, gpu }) => {
    const decode = { wasm: [] as number[], webgpu: [] as number[] };
    const prefill = { wasm: [] as number[], webgpu: [] as number[] };
    for (let round = 0; round <= rounds; round++) {
      for (const [where, page] of [
        ['wasm', onWasm],
        ['webgpu', onWebGpu],
      ] as const) {
        decode[where].push(await page.evaluate((count) => window.bench.calls.decodeOurs(count), DECODED));
        const call = (salt: string) => window.bench.calls.prefillOurs(salt);
        prefill[where].push(await page.evaluate(call, `${where} ${round}`));
      }
    }
    const fingerprint = await onWebGpu.evaluate(() => window.bench.calls.chatFingerprint());
    if (!fingerprint.endsWith('-webgpu'))
      throw new Error(`llama.cpp runs as ${fingerprint}: its kernels need shader-f16, which ${gpu} lacks.`);
    const [wasm, webgpu] = [decode.wasm.slice(1), decode.webgpu.slice(1)];
    const [wasmMs, webgpuMs] = [prefill.wasm.slice(1), prefill.webgpu.slice(1)];
    return [
      {
        name: 'decode of a GGUF: WebGPU ÷ WASM',
        measures: `Tokens a second between the first and the last of ${DECODED}, one stream through /v1, in two browsers in turn. The GPU: ${gpu}.`,
        unit: 'ratio',
        values: quotients(webgpu, wasm),
        detail: { 'WASM, tokens/s': wasm, 'WebGPU, tokens/s': webgpu },
      },
      {
        name: 'prefill of a GGUF: WebGPU ÷ WASM',
        measures: 'Time to the first token of new prompts of about 400 tokens.',
        unit: 'ratio',
        values: quotients(wasmMs, webgpuMs),
        detail: { 'WASM, ms': wasmMs, 'WebGPU, ms': webgpuMs },
      },
    ];
  });
