import { isOfLoad } from '../client/downloads.ts';

/** A failure: the first line as text, the technical rest folded. */
export function ErrorText({ text, alert = false, small = true, model }: Props) {
  if (text === null || (model && isOfLoad(model, text))) return null;
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
  /** Null renders nothing. */
  text: string | null;
  alert?: boolean;
  small?: boolean;
  /** The model of the failed request, whose load card is beside this text and tells why it could not be loaded. */
  model?: string | null | undefined;
}
