import { useRef } from 'preact/hooks';
import type { KeyInfo } from '../../src/index.ts';
import { handle } from '../client/localtext.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { focusIfLost } from '../components/focus-if-lost.ts';
import { count, timeAgo } from '../format.ts';
import { attempt, refreshKeys } from './key-list.ts';
import type { NewKey } from './new-key-dialog.tsx';
import { Button } from '../components/button.tsx';

export function KeyRow({ info, onRotated }: { info: KeyInfo; onRotated: (key: NewKey) => void }) {
  const active = info.state === 'active';
  const heading = useRef<HTMLHeadingElement>(null);

  const rotate = async (): Promise<void> => {
    const rotated = await attempt(async () => (await handle).keys.rotate(info.id));
    if (rotated) onRotated({ label: info.label, key: rotated.key, replaced: true });
    await refreshKeys();
  };
  const revoke = async (): Promise<void> => {
    await attempt(async () => (await handle).keys.revoke(info.id));
    await refreshKeys();
    focusIfLost(heading.current);
  };
  return (
    <li class={`row row-between key-row ${active ? '' : 'key-row-gone'}`}>
      <div class="key-row-main">
        <h3 tabIndex={-1} ref={heading}>
          {info.label} {!active && <span class="tag">{info.state}</span>}
        </h3>
        <p class="small quiet">{facts(info).join(' · ')}</p>
        <p class="figures">{limits(info)}</p>
      </div>
      {active && (
        <div class="row">
          <Button small onClick={() => void rotate()}>
            Rotate<span class="visually-hidden"> {info.label}</span>
          </Button>
          <ConfirmButton
            small
            look="danger"
            action="Revoke"
            name={info.label}
            onConfirm={() => void revoke()}
          >
            Its next request is refused, in every tab. This cannot be taken back.
          </ConfirmButton>
        </div>
      )}
    </li>
  );
}

function facts({ created, lastUsed, expiresAt, models, deviceOnly }: KeyInfo): string[] {
  return [
    `issued ${timeAgo(created)}`,
    lastUsed === null ? 'never used' : `used ${timeAgo(lastUsed)}`,
    expiresAt !== null && `${expiresAt > Date.now() ? 'expires' : 'expired'} ${timeAgo(expiresAt)}`,
    models !== null && `only ${models.join(', ')}`,
    deviceOnly && 'this device only',
  ].filter((fact) => fact !== false);
}

const limits = ({ limits: { requestsPerMinute, tokensPerMinute, inFlight } }: KeyInfo): string =>
  `${count(requestsPerMinute)} requests, ${count(tokensPerMinute)} tokens a minute · ${count(inFlight)} at once`;
