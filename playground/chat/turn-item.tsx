import { AssistantItem } from './assistant-item.tsx';
import type { Turn } from './conversation.ts';
import { UserItem } from './user-item.tsx';

export function TurnItem({ turn, last }: { turn: Turn; last: boolean }) {
  if (turn.role === 'user') return <UserItem turn={turn} />;
  if (turn.role === 'assistant') return <AssistantItem turn={turn} last={last} />;
  return (
    <li class="turn turn-tool">
      <p class="turn-label">{turn.name} answered</p>
      <pre class="tool-json" tabIndex={0} role="region" aria-label={`Answer of ${turn.name}`}>
        {turn.content}
      </pre>
    </li>
  );
}
