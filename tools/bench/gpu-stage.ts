import { launch } from '../../test/support/launch.ts';
import { openBenchPage, type Stage } from './stage.ts';

export type GpuPage = Pick<Stage, 'page' | 'reload'> & { gpu: string };

/** A page in a browser that may use the GPU, beside the stage's own, which may not. @throws without a GPU, with `how` */
export async function onGpu<T>(
  site: Stage['site'],
  how: string,
  measure: (opened: GpuPage) => Promise<T>,
): Promise<T> {
  const context = await launch({ webgpu: 'hardware' });
  try {
    const opened = await openBenchPage(context, site);
    const gpu = await opened.page.evaluate(() => window.bench.calls.gpu());
    if (gpu === null)
      throw new Error(`This row needs a GPU, and the browser offers none by WebGPU here. ${how}`);
    if (gpu.fallback)
      throw new Error(`This row needs a GPU, and WebGPU runs in software here (${gpu.name}). ${how}`);
    return await measure({ ...opened, gpu: gpu.name });
  } finally {
    await context.close();
  }
}
