import './level-meter.css';
import { useEffect, useRef } from 'preact/hooks';
import type { Recorder } from './recorder.ts';

const BARS = 5;

/** Level of the microphone, hidden from screen readers: the start of the recording was announced. */
export function LevelMeter({ recorder }: { recorder: Recorder }) {
  const meter = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let frame = 0;
    const draw = (): void => {
      const lit = Math.round(recorder.level() * BARS);
      for (const [at, bar] of [...(meter.current?.children ?? [])].entries())
        bar.classList.toggle('lit', at < lit);
      frame = requestAnimationFrame(draw);
    };
    draw();
    return () => cancelAnimationFrame(frame);
  }, [recorder]);
  return (
    <span class="level-meter" ref={meter} aria-hidden="true">
      {Array.from({ length: BARS }, (_, at) => (
        <i key={at} />
      ))}
    </span>
  );
}
