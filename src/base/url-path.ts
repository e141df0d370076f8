/** Whether a path is the service's: `/v1` and all below it. */
export const isV1Path = (pathname: string): boolean => pathname === '/v1' || pathname.startsWith('/v1/');

/** Decodes the escapes of a part of a URL. If one is invalid, the whole part stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
