import { deviceLost, engineCrashed, type EngineError } from '../../../protocol/engine-error.ts';

const LOST = /device (is |was )?lost|lost the device|external Instance reference|device.*destroyed/i;

/** What the runtime threw in the middle of its work: it is of no more use. */
export function asRunFailure(error: unknown): EngineError {
  return LOST.test(String(error)) ? deviceLost(error) : engineCrashed(error);
}
