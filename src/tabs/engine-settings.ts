import type { Catalog } from '../catalog/catalog.ts';
import type { DeviceLimits, SourceOptions } from '../protocol/worker-control.ts';

/** What the engine worker is started with. Every URL is absolute. */
export interface EngineSettings {
  catalog: Catalog | null;
  modelsUrl: string;
  wasmUrl: string;
  /** Null: the package's own. */
  workerUrl: string | null;
  sources: SourceOptions;
  prefer: string[];
  upstreamKeys: Record<string, string>;
  limits: DeviceLimits;
}
