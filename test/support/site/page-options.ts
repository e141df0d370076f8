import type { StartOptions } from '../../../src/index.ts';

/** `?options=<JSON>`, or `#options=<JSON>` for what is too long for a request: what a site would pass to `start()`. */
export function pageOptions(): StartOptions {
  const given =
    new URLSearchParams(location.search).get('options') ??
    new URLSearchParams(location.hash.slice(1)).get('options') ??
    '{}';
  return JSON.parse(given) as StartOptions;
}
