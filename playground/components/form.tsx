import type { FormHTMLAttributes, Ref } from 'preact';

interface Props extends Omit<FormHTMLAttributes, 'onSubmit'> {
  onSubmit: () => void | Promise<void>;
  ref?: Ref<HTMLFormElement>;
}

/** A form that a function handles instead of a navigation. */
export function Form({ onSubmit, ...others }: Props) {
  return (
    <form
      {...others}
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    />
  );
}
