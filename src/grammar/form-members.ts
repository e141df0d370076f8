import { isNumber, isObject } from '#base';
import { toDecimal } from './decimal.ts';
import {
  type ArrayForm,
  canonical,
  type Form,
  type FormReader,
  numberAccepts,
  type ObjectForm,
  type Schema,
  type StringForm,
  wordsOf,
} from './forms.ts';
import { distinct } from './keyword-forms.ts';
import type { Language, Languages } from './language.ts';

/** The schemas of an element. */
export const elementSchemas = ({ layers }: ArrayForm, index: number): Schema[] =>
  layers.flatMap(({ prefix, items }) => listed(prefix[index] ?? items));

const listed = (schema: Schema | undefined): Schema[] => (schema === undefined ? [] : [schema]);

/** The schemas of a member. */
export function memberSchemas({ accepts, spend }: Languages, { layers }: ObjectForm, name: string): Schema[] {
  spend(layers.length);
  return layers.flatMap(({ properties, patterns, additional }) => {
    const matching = patterns.flatMap(([language, schema]) => (accepts(language, name) ? [schema] : []));
    const named = [...listed(properties.get(name)), ...matching];
    return named.length > 0 ? named : listed(additional);
  });
}

interface Members {
  /** Language of the names; null: any name. */
  names: Language | null;
  schemas: Schema[];
}

/** Members other than `named`, grouped by the schemas of their values. */
export function otherMembers(reader: FormReader, form: ObjectForm, named: readonly string[]): Members[] {
  const { and, or, not, word, text } = reader.languages;
  const { layers } = form;
  const patterns = [...new Set(layers.flatMap((layer) => layer.patterns.map(([language]) => language)))];
  const others = [
    ...named.map((name) => not(word(text(name)))),
    ...(form.names.length > 0 ? [nameLanguage(reader, form.names)] : []),
  ];
  const matching = patterns.map((pattern) => ({
    names: and(pattern, ...patterns.filter((other) => other !== pattern).map(not), ...others),
    schemas: layers.flatMap((layer) => {
      const own = layer.patterns.flatMap(([language, schema]) => (language === pattern ? [schema] : []));
      return own.length > 0 ? own : listed(layer.additional);
    }),
  }));
  const isOpen =
    layers.some(({ additional }) => additional !== undefined && additional !== false) ||
    layers.every(
      ({ properties, patterns: own }) =>
        own.length === 0 && [...properties.values()].every((each) => each === false),
    );
  if (!isOpen) return matching;
  const isFree = patterns.length === 0 && others.length === 0;
  const schemas = layers.flatMap(({ additional }) => listed(additional));
  return [...matching, { names: isFree ? null : and(not(or(...patterns)), ...others), schemas }];
}

/** The strings among the values of schemas. */
function nameLanguage({ languages, formsOf }: FormReader, schemas: readonly Schema[]): Language {
  const { or, word, text } = languages;
  return or(
    ...formsOf([...schemas, IS_STRING]).map((form) =>
      form.kind === 'string'
        ? wordsOf(languages, form)
        : word(text(String(form.kind === 'literal' && form.value))),
    ),
  );
}

const IS_STRING: Schema = { type: 'string' };

/** Whether a value fits all of these schemas. */
export const accepts = (reader: FormReader, schemas: readonly Schema[], value: unknown): boolean =>
  reader.formsOf(schemas).some((form) => fits(reader, form, value));

/** Whether a value has this form. */
export function fits(reader: FormReader, form: Form, value: unknown): boolean {
  switch (form.kind) {
    case 'literal':
      return form.value === value || canonical(form.value) === canonical(value);
    case 'string':
      return typeof value === 'string' && fitsString(reader, form, value);
    case 'number':
      return isNumber(value) && numberAccepts(form, toDecimal(value));
    case 'array':
      return Array.isArray(value) && fitsArray(reader, form, value);
    case 'object':
      return isObject(value) && fitsObject(reader, form, value);
  }
}

function fitsString({ languages }: FormReader, { min, max, language }: StringForm, value: string): boolean {
  const { length } = Array.from(value);
  return length >= min && length <= max && (!language || languages.accepts(language, value));
}

function fitsArray(reader: FormReader, form: ArrayForm, value: readonly unknown[]): boolean {
  const { min, max, unique } = form;
  if (value.length < min || value.length > max) return false;
  if (unique && distinct(value).length < value.length) return false;
  return value.every((inner, index) => accepts(reader, elementSchemas(form, index), inner));
}

function fitsObject(reader: FormReader, form: ObjectForm, value: object): boolean {
  const members = Object.entries(value);
  if (members.length < form.min || members.length > form.max) return false;
  return (
    form.required.every((name) => Object.hasOwn(value, name)) &&
    members.every(
      ([name, inner]) =>
        accepts(reader, form.names, name) &&
        accepts(reader, memberSchemas(reader.languages, form, name), inner),
    )
  );
}
