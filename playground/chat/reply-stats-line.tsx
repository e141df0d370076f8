import { count, duration, plural } from '../format.ts';
import type { ReplyStats } from './reply.ts';

/** Measured in this page, as an application would; token counts as /v1 reported them. */
export function ReplyStatsLine({ stats }: { stats: ReplyStats }) {
  const parts: string[] = [];
  if (stats.tokensPerSecond !== null) parts.push(`${stats.tokensPerSecond.toFixed(1)} tokens/s`);
  if (stats.firstTokenMs !== null) parts.push(`first after ${duration(stats.firstTokenMs)}`);
  if (stats.completionTokens !== null) parts.push(plural(stats.completionTokens, 'token'));
  if (stats.promptTokens !== null) {
    const cached = stats.cachedTokens ? `, ${count(stats.cachedTokens)} cached` : '';
    parts.push(`prompt ${count(stats.promptTokens)}${cached}`);
  }
  if (parts.length === 0) return null;
  return (
    <span class="figures turn-stats" title={stats.fingerprint ?? undefined}>
      {parts.join(' · ')}
    </span>
  );
}
