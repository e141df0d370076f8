/** What this device can do, as plain data: what a choice of weights rests on, and what a page may show. */
export interface Device {
  /** null: the browser offers no GPU through WebGPU here. */
  gpu: Gpu | null;
  /** Gibibytes as the browser tells them, rounded and at most 8 (Chromium: 32); 1.5 on an iPhone; null: it does not tell. */
  memoryGiB: number | null;
  /** Logical processors. */
  cores: number;
  /** Whether WASM may use threads. */
  crossOriginIsolated: boolean;
  storage: { quotaBytes: number; usedBytes: number } | null;
  /** The user asked for less data. */
  saveData: boolean;
  /** null: no battery, or the browser does not tell. */
  battery: { level: number; charging: boolean } | null;
}

export interface Gpu {
  /** `nvidia ampere`, as far as the browser tells. */
  name: string;
  /** A software implementation on the CPU: right, and very slow. */
  fallback: boolean;
  /** By their names in the WebGPU specification. */
  features: string[];
  /** Bytes. */
  maxBufferSize: number;
  /** Bytes. */
  maxStorageBufferBindingSize: number;
}
