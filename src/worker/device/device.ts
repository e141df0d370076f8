/** What this device can do: the choice of a variant depends on it. */
export interface Device {
  /** null: the browser offers no GPU through WebGPU here. */
  gpu: Gpu | null;
  /** Gibibytes as the browser reports them, rounded and at most 8 (Chromium: 32); 1.5 on an iPhone; null: not reported. */
  memoryGiB: number | null;
  /** Logical processors. */
  cores: number;
  storage: { quotaBytes: number; usedBytes: number } | null;
  /** The user asked for less data. */
  saveData: boolean;
}

export interface Gpu {
  /** `nvidia ampere`, as far as the browser reports it. */
  name: string;
  /** A software implementation on the CPU: correct, and very slow. */
  fallback: boolean;
  /** By their names in the WebGPU specification. */
  features: string[];
}
