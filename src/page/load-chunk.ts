import { LocaltextError } from './localtext-error.ts';

const NOT_FETCHED =
  'A script of this page could not be fetched: the connection failed, or the site has a new build. Call update(), then reload the page.';

/**
 * Waits for a part of the library that is fetched when it is first used.
 * @throws LocaltextError `build_replaced`
 */
export const loadChunk = <T>(chunk: Promise<T>): Promise<T> =>
  chunk.catch((cause: unknown) => {
    throw new LocaltextError('build_replaced', NOT_FETCHED, cause);
  });

/** Loads the error messages when one is needed. */
export const startErrors = () => loadChunk(import('./start-errors.ts'));
