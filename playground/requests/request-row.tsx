import { labelOf } from '#service/endpoints';
import type { RequestLogEntry } from '../../src/index.ts';
import { hueOf } from '../client/models.ts';
import { clockTime, duration } from '../format.ts';
import { clientName } from './clients.ts';
import { isFailure, sideOf, statusText, tokensPerSecond } from './request-figures.ts';

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
          <span class="request-path">{labelOf(entry.path)}</span>{' '}
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
