import { MLC_HOW, type MlcUrls, mlcUrls } from '../../test/support/mlc-model.ts';
import { type GpuPage, onGpu } from './gpu-stage.ts';
import { readMlcModel } from './mlc-files.ts';
import type { Speed } from './page/web-llm.ts';
import { difference, ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

const DECODED = 64;

const HOW = `It needs a GPU and an MLC model. ${MLC_HOW}`;

/** Measures in a separate browser, which may use the GPU. */
export async function webLlm({ site, rounds }: Stage): Promise<Row[]> {
  const mlc = mlcUrls();
  if (mlc === null) throw new Error(`No model was given. ${HOW}`);
  return onGpu(site, HOW, (opened) => compare(opened, mlc, rounds));
}

async function compare({ page, reload }: GpuPage, mlc: MlcUrls, rounds: number): Promise<Row[]> {
  const { catalog, slidingWindow } = await readMlcModel(mlc);
  let contextLength: number | null = null;
  const raw: Speed[] = [];
  const ours: Speed[] = [];
  // Each engine runs in a reloaded page, so that only one is on the GPU.
  const measureOurs = async (): Promise<void> => {
    await reload();
    const { fingerprint, ...speed } = await page.evaluate(
      ([models, count]) => window.bench.calls.webLlmOurs(models, count),
      [catalog, DECODED] as const,
    );
    ours.push(speed);
    if (!slidingWindow) contextLength = Number(fingerprint.split('-').at(-1));
  };
  const measureRaw = async (): Promise<void> => {
    await reload();
    const model = { ...mlc, contextLength };
    raw.push(
      await page.evaluate(([which, count]) => window.bench.calls.webLlmRaw(which, count), [
        model,
        DECODED,
      ] as const),
    );
  };
  // Ours first: how much context fits on this GPU is known then.
  for (let round = 0; round <= rounds; round++)
    for (const measure of round % 2 === 0 ? [measureOurs, measureRaw] : [measureRaw, measureOurs])
      await measure();
  return rows(raw.slice(1), ours.slice(1));
}

function rows(raw: Speed[], ours: Speed[]): Row[] {
  const speeds = (of: Speed[]): number[] => of.map(({ perSecond }) => perSecond);
  const firsts = (of: Speed[]): number[] => of.map(({ firstTokenMs }) => firstTokenMs);
  return [
    ratio(
      "decode on WebGPU through the SDK and /v1 ÷ web-llm's own engine",
      { 'ours, tokens/s': speeds(ours), 'raw, tokens/s': speeds(raw) },
      { atLeast: 0.98 },
    ),
    difference(
      "first token on WebGPU through the SDK and /v1 − web-llm's own engine",
      { 'ours, ms': firsts(ours), 'raw, ms': firsts(raw) },
      { atMost: 10 },
    ),
  ];
}
