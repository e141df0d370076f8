import { config, type core } from 'zod/mini';

// Compiled checks need `new Function`: a strict Content-Security-Policy reports even the attempt. Schemas
// read the setting when they are made.
config({ jitless: true });

export * from 'zod/mini';

/**
 * The check of an array or object stops at its first fault: to collect every fault of a long one takes
 * seconds.
 */
export const FIRST_FAULT: core.ParseContextInternal<core.$ZodIssue> = { abortEarly: true };
