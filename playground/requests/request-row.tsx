import type { RequestLogEntry } from '../../src/index.ts';
import { hueOf } from '../client/models.ts';
import { clockTime, duration } from '../format.ts';
import { clientName } from './clients.ts';
import { isFailure, sideOf, statusText, tokensPerSecond } from './request-figures.ts';

/** Short, for a narrow screen; the detail has the path. */
const NAMES: Record<string, string> = {
  '/v1/chat/completions': 'chat',
  '/v1/embeddings': 'embeddings',
  '/v1/completions': 'completion',
  '/v1/responses': 'response',
  '/v1/decisions': 'decisions',
  '/v1/audio/transcriptions': 'transcription',
  '/v1/audio/translations': 'translation',
  '/v1/models': 'models',
};

export function RequestRow({ entry, onOpen }: { entry: RequestLogEntry; onOpen: () => void }) {
  const rate = tokensPerSecond(entry);
  return (
    <li data-hue={hueOf(entry.model ?? '')}>
      <button type="button" class="request-row" onClick={onOpen}>
        <span class="figures request-time">{clockTime(entry.startedAt)}</span>
        <span class={`request-status figures ${isFailure(entry) ? 'error-text' : ''}`}>
          {entry.state === 'running' && <span class="dot dot-busy" aria-hidden="true" />}
          {statusText(entry)}
        </span>
        <span class="request-what">
          <span class="request-path">{NAMES[entry.path] ?? entry.path}</span>{' '}
          {entry.model !== null && <span class="quiet small">{entry.model}</span>}
          {entry.servedBy !== null && <span class="quiet small"> {sideOf(entry.servedBy)}</span>}
        </span>
        <span class="request-who small quiet">
          {clientName(entry)} · {entry.keyLabel ?? 'no valid key'}
        </span>
        <span class="figures request-rate">{rate === null ? '' : `${rate.toFixed(1)} tok/s`}</span>
        <span class="figures request-total">{entry.totalMs === null ? '' : duration(entry.totalMs)}</span>
      </button>
    </li>
  );
}
