import { nameIn } from './locks.ts';
import type { PageModel } from './page-model.ts';

/** Services that only the page can offer an engine. */
export interface PageServices {
  /** Decodes audio that the worker cannot decode. */
  decodeAudio: DecodeAudio;
  /** The browser's own model. */
  pageModel: PageModel;
  loads: LoadRecords;
}

/** Records loads that ended their tab, such as loads of a model that is too large for the device. */
export interface LoadRecords {
  /** Ids of all loads that are under way, or have not generated a token yet. */
  begun(loads: readonly string[]): Promise<void>;
  /** Ids of the loads with which a tab has ended. */
  fatal(): Promise<string[]>;
  /**
   * Notes that a load was refused for its record, and the page was told. The load may begin again some
   * minutes later.
   */
  refused(load: string): Promise<void>;
}

/** Keys in `localStorage`. */
export const loadsKey = (scope: string): string => `${nameIn(scope)}:loading`;
export const fatalLoadsKey = (scope: string): string => `${nameIn(scope)}:fatal-loads`;

export type DecodeAudio = (file: Blob) => Promise<PageAudio>;

/** One channel at 16 kHz; or the formats that the page plays, if it cannot decode this one. */
export type PageAudio = { samples: Int16Array<ArrayBuffer> } | { plays: string[] };
