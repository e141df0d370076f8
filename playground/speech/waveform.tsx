import { useMemo } from 'preact/hooks';
import { peaks, waveformPath } from './peaks.ts';

const BARS = 120;

interface Props {
  samples: Float32Array;
  /** Played share, 0 to 1. */
  played: number;
  onSeek: (share: number) => void;
}

/** Waveform for pointer users; keyboard users have the player below it. */
export function Waveform({ samples, played, onSeek }: Props) {
  const heights = useMemo(() => {
    const all = peaks(samples, BARS);
    const loudest = Math.max(...all, 0.01);
    return all.map((each) => each / loudest);
  }, [samples]);
  const now = Math.round(played * BARS);
  return (
    <svg
      class="waveform"
      viewBox={`0 -1 ${BARS} 2`}
      preserveAspectRatio="none"
      aria-hidden="true"
      onClick={({ currentTarget, clientX }) => {
        const { left, width } = currentTarget.getBoundingClientRect();
        onSeek((clientX - left) / width);
      }}
    >
      <path class="waveform-played" d={waveformPath(heights, 0, now)} />
      <path d={waveformPath(heights, now, BARS)} />
    </svg>
  );
}
