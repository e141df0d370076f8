import './thumbnails.css';
import { useEffect, useState } from 'preact/hooks';
import { IconButton } from '../components/icon-button.tsx';
import type { Picture } from './picture.ts';

interface Props {
  pictures: readonly Picture[];
  /** Absent: they stay. */
  onRemove?: (picture: Picture) => void;
}

export function Thumbnails({ pictures, onRemove }: Props) {
  return (
    <ul class={`thumbnails ${onRemove ? 'thumbnails-small' : ''}`} aria-label="Pictures">
      {pictures.map((picture, index) => {
        const label = `${pictures.length > 1 ? `picture ${index + 1}, ` : ''}${picture.name}`;
        return (
          <li key={picture.blob}>
            <Thumbnail blob={picture.blob} alt={label} />
            {onRemove && (
              <IconButton
                class="thumbnail-remove"
                icon="close"
                label={`Remove ${label}`}
                title="Remove"
                onClick={() => onRemove(picture)}
              />
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Thumbnail({ blob, alt }: { blob: Blob; alt: string }) {
  const [url, setUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return <img src={url} alt={alt} />;
}
