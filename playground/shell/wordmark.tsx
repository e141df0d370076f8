import { href } from '../router.ts';

export function Wordmark() {
  return (
    <a class="wordmark" href={href('chat')} aria-label="localtext, to the chat">
      localtext
      <span class="wordmark-cursor" aria-hidden="true" />
    </a>
  );
}
