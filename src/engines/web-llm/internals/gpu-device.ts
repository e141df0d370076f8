/**
 * Intercepts the GPU device that web-llm opens.
 *
 * @remarks
 * - Relies on: web-llm requests a device with the two limits below. Nothing else in this worker requests both.
 * - Read in: @mlc-ai/web-llm 0.2.86, `detectGPUDevice()`.
 * - Notices: the load ends without such a device.
 * - Then: the load fails with `engine_failed`, and another variant is tried.
 */
/**
 * Runs `load`, and reports the GPU device that web-llm opens in it. web-llm keeps the device private, but it is
 * needed to detect its loss, and to free its memory after a failed or aborted load.
 */
export async function withGpuDevice<T>(
  gpu: GPU,
  onDevice: (gpuDevice: GPUDevice) => void,
  load: () => Promise<T>,
): Promise<T> {
  const requestAdapter = gpu.requestAdapter.bind(gpu);
  Object.defineProperty(gpu, 'requestAdapter', {
    configurable: true,
    value: async (options?: GPURequestAdapterOptions) => {
      const adapter = await requestAdapter(options);
      if (adapter) watchAdapter(adapter, onDevice);
      return adapter;
    },
  });
  try {
    return await load();
  } finally {
    Reflect.deleteProperty(gpu, 'requestAdapter');
  }
}

function watchAdapter(adapter: GPUAdapter, onDevice: (gpuDevice: GPUDevice) => void): void {
  const requestDevice = adapter.requestDevice.bind(adapter);
  Object.defineProperty(adapter, 'requestDevice', {
    configurable: true,
    value: async (descriptor?: GPUDeviceDescriptor) => {
      const gpuDevice = await requestDevice(descriptor);
      // Other engines of this worker may open devices, too, but without both of these limits.
      const limits = descriptor?.requiredLimits ?? {};
      if (
        limits['maxStorageBuffersPerShaderStage'] === 10 &&
        limits['maxComputeWorkgroupStorageSize'] === 32768
      )
        onDevice(gpuDevice);
      return gpuDevice;
    },
  });
}
