import { serverError, type ServiceError } from './service-error.ts';

/** The tab belongs to a build of the site whose files the server no longer has. */
export const buildReplaced = (cause?: unknown): ServiceError =>
  serverError(
    'build_replaced',
    'The site has a new build, and the server no longer has the files of this one. Call update(), then reload the tabs of this site.',
    cause,
  );
