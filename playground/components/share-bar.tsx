/** A share from 0 to 1 as a bar, beside its figure. */
export function ShareBar({ share }: { share: number }) {
  return (
    <span class="progress" aria-hidden="true">
      <span style={{ inlineSize: `${share * 100}%` }} />
    </span>
  );
}
