import { useEffect, useRef } from 'preact/hooks';
import type { Embedded } from './embed.ts';
import { project } from './vector.ts';

/** Texts as points: the two directions in which these vectors differ most. */
export function SimilarityMap({ embedded, hasTable }: { embedded: Embedded; hasTable: boolean }) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    let gone = false;
    const points = project(embedded.vectors).map((point, index) => ({
      ...point,
      text: embedded.texts[index] ?? '',
    }));
    const draw = async (): Promise<void> => {
      const { drawMap } = await import('./draw-map.ts');
      if (!gone) element.replaceChildren(drawMap(points, element.clientWidth));
    };
    const observer = new ResizeObserver(() => void draw());
    observer.observe(element);
    return () => {
      gone = true;
      observer.disconnect();
    };
  }, [embedded]);
  return (
    <section class="stack">
      <h2>Map</h2>
      <div
        class="map"
        ref={frame}
        role="img"
        aria-label={`Texts as points: what lies close means the same.${hasTable ? ' The table below has the figures.' : ''}`}
      />
    </section>
  );
}
