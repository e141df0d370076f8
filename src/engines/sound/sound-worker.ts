import { transfer } from 'comlink';

import { toWireError, type WireError } from '#base';
import { type ForPage, openSound, type Sound } from './read-audio.ts';

/** Result of a failed call. Errors are values, as thrown errors lose their fields between workers. */
export interface Refused {
  error: WireError;
}

const orRefused = <T>(task: () => Promise<T>): Promise<T | Refused> =>
  task().catch((error: unknown) => ({ error: toWireError(error) }));

let sound: Sound | null = null;

/** Reads and decodes one sound file at a time, in a worker that can be terminated. */
export const soundWorker = {
  open: (file: Blob): Promise<Refused | { forPage: ForPage | null }> =>
    orRefused(async () => {
      await soundWorker.close();
      const opened = await openSound(file);
      if ('codec' in opened) return { forPage: opened };
      sound = opened;
      return { forPage: null };
    }),

  /** Next piece of the sound; null at its end. */
  next: (): Promise<Refused | { samples: Float32Array<ArrayBuffer> | null }> =>
    orRefused(async () => {
      const { value } = (await sound?.next()) ?? {};
      return value ? transfer({ samples: value }, [value.buffer]) : { samples: null };
    }),

  async close(): Promise<void> {
    await sound?.return();
    sound = null;
  },
};
