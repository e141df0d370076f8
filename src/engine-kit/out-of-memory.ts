import { serverError, ServiceError, messageOf } from '#base';

/** Messages of runtimes and browsers; ONNX Runtime also throws a bare number. "expression too large" is about a regex. */
const OUT_OF_MEMORY =
  /out.of.memory|insufficient memory|bad_alloc|(could not|unable to) allocate|alloc(ate|ation)?\b.*fail|fail.*\balloc|memory access|memory.*(exceed|limit)|maxBufferSize|(?<!expression )too large|^\d+$/i;

/** Whether an error message means that memory ran out. */
export const isOutOfMemory = (message: string): boolean => OUT_OF_MEMORY.test(message);

export function outOfMemory(variant: string, cause: unknown): ServiceError {
  const message = `There is too little memory for ${variant}. Close other tabs and try again in 30 s, or choose a smaller model.`;
  return serverError('out_of_memory', message, cause);
}

export const isLackOfMemory = (error: unknown): boolean =>
  error instanceof ServiceError ? error.code === 'out_of_memory' : isOutOfMemory(messageOf(error));

/**
 * Loads with the first of these context lengths that fits into memory.
 * @throws the error of the last attempt
 */
export async function loadFitting<Length, T>(
  lengths: readonly Length[],
  load: (contextLength: Length) => Promise<T>,
  isShort: (error: unknown) => boolean = isLackOfMemory,
): Promise<T> {
  let failure: unknown;
  for (const contextLength of lengths) {
    try {
      return await load(contextLength);
    } catch (error) {
      failure = error;
      if (!isShort(error)) throw error;
    }
  }
  throw failure;
}
