import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog.tsx';

interface Props {
  title: string;
  /** Text of the button that does it. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
  /** What it means. */
  children: ComponentChildren;
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ title, action, onConfirm, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <div class="row">
        <button type="button" class="button button-danger" onClick={onConfirm}>
          {action}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Dialog>
  );
}
