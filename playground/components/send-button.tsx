import { useRef } from 'preact/hooks';
import { IconButton } from './icon-button.tsx';

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
    <IconButton class="composer-button" icon="stop" label={stopLabel} title="Stop (Esc)" onClick={stop} />
  ) : (
    <IconButton
      class="composer-button"
      type="submit"
      icon="send"
      label={label}
      title="Send (Enter)"
      disabled={disabled}
    />
  );
}
