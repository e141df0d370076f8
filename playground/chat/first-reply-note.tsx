import { href } from '../router.ts';
import { firstReply } from './first-reply.ts';

/** Note under the first reply, until the page is left: which model wrote it, and that it needs no network. */
export function FirstReplyNote({ turnId }: { turnId: string }) {
  const first = firstReply.value;
  if (first?.turnId !== turnId) return null;
  return (
    <p class="quiet small">
      This was <code>POST /v1/chat/completions</code>:{' '}
      <a href={href('requests', first.requestId)}>the request and its code</a>. Turn your network off and ask
      again.
    </p>
  );
}
