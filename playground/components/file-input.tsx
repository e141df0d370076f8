import type { Ref } from 'preact';

interface Props {
  ref: Ref<HTMLInputElement>;
  accept: string;
  multiple?: boolean;
  'aria-label'?: string;
  onFiles: (files: File[]) => void;
}

/** A hidden input for files, which a button opens with `click()`. */
export function FileInput({ onFiles, ...others }: Props) {
  return (
    <input
      {...others}
      hidden
      type="file"
      onChange={({ currentTarget }) => {
        const files = [...(currentTarget.files ?? [])];
        if (files.length > 0) onFiles(files);
        // Reset the input, so that the same file can be chosen again.
        currentTarget.value = '';
      }}
    />
  );
}
