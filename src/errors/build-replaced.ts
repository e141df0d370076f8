import { serverError, type ServiceError } from './service-error.ts';

/** The tab belongs to a build of the site whose files the server no longer has. */
export const buildReplaced = (cause?: unknown): ServiceError =>
  serverError(
    'build_replaced',
    'The site has a new build, and this tab belongs to an earlier one that the server no longer has. Reload the page.',
    cause,
  );
