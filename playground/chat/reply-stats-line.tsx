import { duration, plural } from '../format.ts';
import { promptFigure } from '../requests/request-figures.ts';
import type { ReplyStats } from './reply.ts';

/** Measured in this page, as an application would; token counts as /v1 reported them. */
export function ReplyStatsLine({ stats }: { stats: ReplyStats }) {
  const parts = [
    stats.tokensPerSecond !== null && `${stats.tokensPerSecond.toFixed(1)} tokens/s`,
    stats.firstTokenMs !== null && `first after ${duration(stats.firstTokenMs)}`,
    stats.completionTokens !== null && plural(stats.completionTokens, 'token'),
    promptFigure(stats.promptTokens, stats.cachedTokens),
  ].filter((part) => part !== false);
  if (parts.length === 0) return null;
  return (
    <span class="figures turn-stats" title={stats.fingerprint ?? undefined}>
      {parts.join(' · ')}
    </span>
  );
}
