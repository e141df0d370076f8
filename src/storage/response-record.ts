import type { StoredResponse } from '../service/service-dependencies.ts';

export interface ResponseRecord extends StoredResponse {
  /** Of all of it as JSON, about its size. */
  characters: number;
}
