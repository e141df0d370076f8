/** Progress bar, striped where the end is unknown; screen readers read the figure on request. */
export function ProgressBar({ label, value, max }: { label: string; value: number; max: number }) {
  const known = max > 0;
  const percent = known ? Math.min(100, (value / max) * 100) : 0;
  return (
    <div
      class={`progress ${known ? '' : 'progress-unknown'}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={known ? Math.floor(percent) : undefined}
    >
      <span style={{ inlineSize: `${percent}%` }} />
    </div>
  );
}
