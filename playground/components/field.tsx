import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { announce } from '../announce.ts';

interface FieldProps {
  label: string;
  /** Shown beside the label. */
  value?: string | undefined;
  hint?: ComponentChildren;
  error?: string | null;
  children: (ids: { id: string; 'aria-describedby': string | undefined }) => ComponentChildren;
}

/** A label, its control and its help text, linked for screen readers. */
function Field({ label, value, hint, error = null, children }: FieldProps) {
  const id = useId();
  const described = [hint ? `${id}-hint` : '', error === null ? '' : `${id}-error`].filter(Boolean).join(' ');
  // Not while it is being typed, when the error changes with each character.
  const tellError = (): void => {
    if (error !== null) announce(`${label}: ${error}`);
  };
  return (
    <div class="field" onFocusOut={tellError}>
      <label class="field-label" for={id}>
        {label}
        {value !== undefined && (
          <span class="figures" aria-hidden="true">
            {value}
          </span>
        )}
      </label>
      {children({ id, 'aria-describedby': described || undefined })}
      {hint ? (
        <span class="field-hint" id={`${id}-hint`}>
          {hint}
        </span>
      ) : null}
      {error !== null && (
        <span class="field-error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  );
}

/** Props of a field that edits a signal. */
export const edits = <T,>(edited: Signal<T>) => ({
  value: edited.value,
  onChange: (value: T) => void (edited.value = value),
});

/** Props of fields that edit the members of an object. It is read at each edit: two may precede a render. */
export const membersOf =
  <T extends object>(edited: { value: T }) =>
  <K extends keyof T>(name: K) => ({
    value: edited.value[name],
    onChange: (value: T[K]) => void (edited.value = { ...edited.value, [name]: value }),
  });

interface Edited<T> {
  label: string;
  value: T;
  onChange: (value: T) => void;
}

interface RangeProps extends Edited<number> {
  min: number;
  max: number;
  step: number;
}

export function RangeField({ label, value, onChange, ...bounds }: RangeProps) {
  return (
    <Field label={label} value={value.toString()}>
      {(ids) => (
        <input
          {...ids}
          {...bounds}
          type="range"
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.valueAsNumber)}
        />
      )}
    </Field>
  );
}

interface NumberProps extends Edited<number | null> {
  min?: number;
  placeholder: string;
}

/** An integer, or nothing. */
export function NumberField({ label, value, onChange, ...others }: NumberProps) {
  return (
    <Field label={label}>
      {(ids) => (
        <input
          {...ids}
          {...others}
          class="input"
          type="number"
          inputMode="numeric"
          step={1}
          value={value ?? ''}
          // At each key: a render before the field is left would reset what was typed.
          onInput={({ currentTarget }) =>
            onChange(currentTarget.value === '' ? null : Math.round(currentTarget.valueAsNumber))
          }
        />
      )}
    </Field>
  );
}

interface TextProps extends Edited<string> {
  rows?: number;
  code?: boolean;
  type?: 'search';
  placeholder?: string;
  hint?: ComponentChildren;
  error?: string | null;
}

export function TextField({ label, value, onChange, rows = 1, code = false, ...others }: TextProps) {
  const { type, placeholder, hint, error = null } = others;
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => {
        const props = {
          ...ids,
          class: `input ${code ? 'input-code' : ''}`,
          dir: code ? undefined : ('auto' as const),
          placeholder,
          'aria-invalid': error !== null,
          value,
          onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
        };
        if (rows > 1) return <textarea {...props} rows={rows} spellcheck={!code} />;
        return type ? <input {...props} type={type} /> : <input {...props} />;
      }}
    </Field>
  );
}

interface SelectProps<T extends string> extends Edited<T> {
  options: readonly { value: T; label: string }[];
  hint?: string;
}

export function SelectField<T extends string>({ label, value, options, hint, onChange }: SelectProps<T>) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <select
          {...ids}
          class="input"
          value={value}
          onChange={({ currentTarget }) => {
            const chosen = options.find((option) => option.value === currentTarget.value);
            if (chosen) onChange(chosen.value);
          }}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField({ label, value, onChange }: Edited<boolean>) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      {label}
    </label>
  );
}
