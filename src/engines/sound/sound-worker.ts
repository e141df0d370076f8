import { transfer } from 'comlink';

import { toWireError, type WireError } from '#base';
import { type ForPage, openSound, type Sound } from './read-audio.ts';

/** Result of a failed call. Errors are values, as thrown errors lose their fields between workers. */
export interface Refused {
  error: WireError;
}

/** Next piece of the sound; null at its end. */
export interface NextSamples {
  samples: Float32Array<ArrayBuffer> | null;
}

let sound: Sound | null = null;

/** Reads and decodes one sound file at a time, in a worker that can be terminated. */
export const soundWorker = {
  async open(file: Blob): Promise<Refused | { forPage: ForPage | null }> {
    try {
      await soundWorker.close();
      const opened = await openSound(file);
      if ('codec' in opened) return { forPage: opened };
      sound = opened;
      return { forPage: null };
    } catch (error) {
      return { error: toWireError(error) };
    }
  },

  async next(): Promise<Refused | NextSamples> {
    try {
      const { value } = (await sound?.next()) ?? {};
      return value ? transfer({ samples: value }, [value.buffer]) : { samples: null };
    } catch (error) {
      return { error: toWireError(error) };
    }
  },

  async close(): Promise<void> {
    await sound?.return();
    sound = null;
  },
};
