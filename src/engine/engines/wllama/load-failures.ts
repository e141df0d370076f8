import { EngineError } from '../../../protocol/engine-error.ts';

const MEMORY =
  /out of memory|bad_alloc|alloc(ate|ation)?\b.*fail|fail.*\balloc|could not allocate|memory access/i;

/** Recognises a lack of memory; any other error stays as it is. */
export function asLoadFailure(error: unknown, variant: string): unknown {
  if (error instanceof EngineError) return error;
  const text = error instanceof Error ? `${error.name} ${error.message}` : String(error);
  if (!MEMORY.test(text)) return error;
  return new EngineError(
    {
      code: 'out_of_memory',
      message: `There is too little memory for ${variant}. Close other tabs, or choose a smaller model.`,
    },
    error,
  );
}
