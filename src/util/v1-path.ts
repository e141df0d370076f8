/** Whether a path is the service's: `/v1` and all below it. */
export const isV1Path = (pathname: string): boolean => pathname === '/v1' || pathname.startsWith('/v1/');
