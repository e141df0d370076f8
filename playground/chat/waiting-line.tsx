import { downloads } from '../client/downloads.ts';
import { WaitingDots } from '../components/waiting-dots.tsx';

/** Line shown between the question and the first token. */
export function WaitingLine({ model }: { model: string }) {
  const phase = downloads.value[model]?.phase;
  const text = phase === undefined || phase === 'ready' ? 'Reading' : 'Waiting for the model to load';
  return (
    <p class="waiting-line">
      {text}
      <WaitingDots />
    </p>
  );
}
