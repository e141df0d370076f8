import { message } from '../announce.ts';

export function Announcer() {
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {message}
    </div>
  );
}
