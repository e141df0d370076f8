/** What the device's GPU offers through WebGPU; null: nothing, or only a software one. */
export async function realAdapter(): Promise<GPUAdapter | null> {
  try {
    const adapter = (await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' })) ?? null;
    return adapter && !adapter.info.isFallbackAdapter ? adapter : null;
  } catch {
    return null;
  }
}

/** Whether the browser offers any GPU now: after several losses it may offer none until it is restarted. */
export async function hasAdapter(): Promise<boolean> {
  try {
    return Boolean(await navigator.gpu?.requestAdapter());
  } catch {
    return false;
  }
}
