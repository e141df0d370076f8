import { useEffect, useRef } from 'preact/hooks';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { turns } from './chat-state.ts';
import { AssistantItem } from './assistant-item.tsx';
import type { Turn } from './conversation.ts';
import { UserItem } from './user-item.tsx';

const NEAR_END_PX = 80;

/** The branch that is shown. It follows the reply being written, unless the reader has scrolled away. */
export function Transcript() {
  // Another reply or version takes the place of the item whose button was pressed.
  const scroller = useKeptFocus<HTMLDivElement>();
  const follows = useRef(true);
  /** Heights of the content and of the view at the last scroll. */
  const sizes = useRef('');
  const shown = turns.value;

  const follow = (): void => {
    const element = scroller.current;
    if (element && follows.current) element.scrollTop = element.scrollHeight;
  };
  useEffect(follow, [shown]);
  useEffect(() => {
    // The height also changes when pictures load and the composer grows.
    const observer = new ResizeObserver(follow);
    for (const element of [scroller.current, scroller.current?.firstElementChild])
      if (element) observer.observe(element);
    return () => observer.disconnect();
  }, []);

  return (
    <div
      class="transcript"
      ref={scroller}
      role="region"
      aria-label="Messages"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        const now = `${scrollHeight} ${clientHeight}`;
        // The browser also scrolls when the content or the window changes; ignore that.
        const isNearEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
        if (isNearEnd || now === sizes.current) follows.current = isNearEnd;
        else follow();
        sizes.current = now;
      }}
    >
      <ol class="turns">
        {shown.map((turn, index) => (
          <TurnItem key={turn.id} turn={turn} last={index === shown.length - 1} />
        ))}
      </ol>
    </div>
  );
}

function TurnItem({ turn, last }: { turn: Turn; last: boolean }) {
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
