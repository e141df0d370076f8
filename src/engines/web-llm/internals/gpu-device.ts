/**
 * Finds the GPU device that web-llm opens.
 *
 * @remarks
 * - Relies on: web-llm requests a device with the two limits below, which nothing else here requests together.
 * - Read in: @mlc-ai/web-llm 0.2.86, `detectGPUDevice()`.
 * - Notices: no such device was opened when the load has ended.
 * - Then: the load fails with `engine_failed`, and another variant is tried.
 */
/**
 * Runs `load`, and passes on the GPU device that web-llm opens in it. web-llm keeps the device private, but only its owner
 * is notified of its loss, and can free its memory when a load fails or is aborted.
 */
export async function withGpuDevice<T>(
  gpu: GPU,
  onDevice: (device: GPUDevice) => void,
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

function watchAdapter(adapter: GPUAdapter, onDevice: (device: GPUDevice) => void): void {
  const requestDevice = adapter.requestDevice.bind(adapter);
  Object.defineProperty(adapter, 'requestDevice', {
    configurable: true,
    value: async (descriptor?: GPUDeviceDescriptor) => {
      const device = await requestDevice(descriptor);
      // Other engines of this worker may open devices too. Only web-llm requests these two limits together.
      const limits = descriptor?.requiredLimits ?? {};
      if (
        limits['maxStorageBuffersPerShaderStage'] === 10 &&
        limits['maxComputeWorkgroupStorageSize'] === 32768
      )
        onDevice(device);
      return device;
    },
  });
}
