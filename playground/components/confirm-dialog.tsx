import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog.tsx';
import { Button } from './button.tsx';

interface Props {
  title: string;
  /** Label of the confirming button. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
  /** Consequences, for the user. */
  children: ComponentChildren;
}

/** Asks for confirmation before an irreversible action. */
export function ConfirmDialog({ title, action, onConfirm, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <div class="row">
        <Button look="danger" onClick={onConfirm}>
          {action}
        </Button>
        <Button onClick={onClose}>Keep it</Button>
      </div>
    </Dialog>
  );
}
