import type { RequestLogEntry } from '../../src/index.ts';
import { count, duration } from '../format.ts';

export const isFailure = ({ status, error }: RequestLogEntry): boolean =>
  error !== null || (status !== null && status >= 400);

export function statusText({ state, status }: RequestLogEntry): string {
  return state === 'running' || state === 'aborted' ? state : String(status ?? '');
}

/** Decode speed after the first token; null where nothing was decoded. Sound counts tokens by its length. */
export function tokensPerSecond(entry: RequestLogEntry): number | null {
  const { path, completionTokens, firstTokenMs, totalMs } = entry;
  if (path.startsWith('/v1/audio/') || completionTokens === null || completionTokens < 2) return null;
  if (firstTokenMs === null || totalMs === null) return null;
  const decodeMs = totalMs - firstTokenMs;
  return decodeMs > 0 ? ((completionTokens - 1) * 1000) / decodeMs : null;
}

/** `prompt 1,200, 900 cached` */
export const promptFigure = (tokens: number | null, cached: number | null): string | false =>
  tokens !== null && `prompt ${count(tokens)}${cached ? `, ${count(cached)} cached` : ''}`;

export function figures(entry: RequestLogEntry): string[] {
  const { queueMs, firstTokenMs, totalMs, promptTokens, cachedTokens, completionTokens } = entry;
  const rate = tokensPerSecond(entry);
  return [
    queueMs !== null && `queue ${duration(queueMs)}`,
    firstTokenMs !== null && `first token ${duration(firstTokenMs)}`,
    totalMs !== null && `total ${duration(totalMs)}`,
    rate !== null && `${rate.toFixed(1)} tokens/s`,
    promptFigure(promptTokens, cachedTokens),
    completionTokens !== null && `reply ${count(completionTokens)}`,
  ].filter((part) => part !== false);
}

/** Whether a server computed an answer, by the fingerprint of its variant. */
export const isFromServer = (servedBy: string): boolean => servedBy.endsWith('-upstream');

export const sideOf = (servedBy: string): string =>
  isFromServer(servedBy) ? 'from a server' : 'on this device';
