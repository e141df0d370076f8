/** A failure: the first line as text, the technical rest folded. */
export function ErrorText({ text, alert = false, small = true }: Props) {
  const [said, ...rest] = text.split('\n');
  return (
    <div role={alert ? 'alert' : undefined} class={`error-text ${small ? 'small' : ''}`}>
      <p>{said}</p>
      {rest.length > 0 && (
        <details>
          <summary>Details</summary>
          <p class="error-details">{rest.join(' ')}</p>
        </details>
      )}
    </div>
  );
}

interface Props {
  text: string;
  alert?: boolean;
  small?: boolean;
}
