import { useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

/** How long Stop ignores presses, such as the second press of a double click on Send. */
const DOUBLE_CLICK_MS = 400;

interface Props {
  label: string;
  stopLabel: string;
  disabled: boolean;
  busy: boolean;
  onStop: () => void;
}

/** Sends the form; while it is busy, stops it. */
export function SendButton({ label, stopLabel, disabled, busy, onStop }: Props) {
  const sentAt = useRef<number | null>(null);
  if (!busy) sentAt.current = null;
  else sentAt.current ??= performance.now();
  const stop = (): void => {
    if (performance.now() - (sentAt.current ?? 0) > DOUBLE_CLICK_MS) onStop();
  };
  return busy ? (
    <button type="button" class="composer-button" aria-label={stopLabel} title="Stop (Esc)" onClick={stop}>
      <Icon name="stop" />
    </button>
  ) : (
    // Not `disabled`, which would take the focus from it once its message is sent.
    <button
      type="submit"
      class="composer-button"
      aria-label={label}
      title="Send (Enter)"
      aria-disabled={disabled}
    >
      <Icon name="send" />
    </button>
  );
}
