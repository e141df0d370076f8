import type { core } from 'zod/mini';

/**
 * The check of an array or object stops at its first fault: to collect every fault of a long one takes
 * seconds.
 */
export const FIRST_FAULT: core.ParseContextInternal<core.$ZodIssue> = { abortEarly: true };
