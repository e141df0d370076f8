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
export function Field({ label, value, hint, error = null, children }: FieldProps) {
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

/** Props of fields that edit the members of an object. @param read returns it as it is now: two edits may precede a render */
export const membersOf =
  <T extends object>(read: () => T, change: (changed: T) => void) =>
  <K extends keyof T>(name: K) => ({
    value: read()[name],
    onChange: (value: T[K]) => change({ ...read(), [name]: value }),
  });

interface RangeProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  onChange: (value: number) => void;
}

export function RangeField({ label, value, min, max, step, onChange }: RangeProps) {
  return (
    <Field label={label} value={value.toString()}>
      {(ids) => (
        <input
          {...ids}
          type="range"
          min={min}
          max={max}
          step={step}
          value={value}
          onInput={(event) => onChange(event.currentTarget.valueAsNumber)}
        />
      )}
    </Field>
  );
}

interface NumberProps {
  label: string;
  value: number | null;
  min?: number;
  max?: number;
  placeholder?: string;
  hint?: string;
  onChange: (value: number | null) => void;
}

/** An integer, or nothing. */
export function NumberField({ label, value, min, max, placeholder, hint, onChange }: NumberProps) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <input
          {...ids}
          class="input"
          type="number"
          inputMode="numeric"
          step={1}
          min={min}
          max={max}
          placeholder={placeholder}
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

interface TextProps {
  label: string;
  value: string;
  rows?: number;
  code?: boolean;
  placeholder?: string;
  hint?: ComponentChildren;
  error?: string | null;
  onChange: (value: string) => void;
}

export function TextField({
  label,
  value,
  rows = 1,
  code = false,
  placeholder,
  hint,
  error = null,
  onChange,
}: TextProps) {
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
        return rows > 1 ? <textarea {...props} rows={rows} spellcheck={!code} /> : <input {...props} />;
      }}
    </Field>
  );
}

interface SelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  hint?: string;
  onChange: (value: T) => void;
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

export function CheckField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: boolean;
  onChange: (value: boolean) => void;
}) {
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
