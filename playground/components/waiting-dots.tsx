import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { isStill } from '../media.ts';

const DOTS = [0, 1, 2];
const STEP_MS = 400;

/** Dots that light up in turn. A CSS animation costs the browser a frame every 16 ms, which a loading model lacks. */
export function WaitingDots() {
  const lit = useSignal(0);
  useEffect(() => {
    if (isStill.value) return;
    const timer = setInterval(() => {
      lit.value = (lit.value + 1) % DOTS.length;
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [lit, isStill.value]);
  return (
    <span class="waiting-dots" aria-hidden="true">
      {DOTS.map((dot) => (
        <i key={dot} class={dot === lit.value ? 'lit' : ''} />
      ))}
    </span>
  );
}
