import { serverError, type ServiceError } from '../../errors/service-error.ts';

/** What the runtimes and the browsers say; ONNX Runtime throws a bare number, too. */
const OUT_OF_MEMORY =
  /out.of.memory|bad_alloc|could not allocate|alloc(ate|ation)?\b.*fail|fail.*\balloc|memory access|memory.*(exceed|limit)|maxBufferSize|too large|^\d+$/i;

/** Whether a load failed for want of memory. */
export const isOutOfMemory = (message: string): boolean => OUT_OF_MEMORY.test(message);

export const outOfMemory = (variant: string, cause: unknown): ServiceError =>
  serverError(
    'out_of_memory',
    `There is too little memory for ${variant}. Close other tabs, or choose a smaller model.`,
    cause,
  );
