import {
  anyObject,
  canonical,
  type Form,
  type FormReader,
  formsOfTypes,
  isEmptyRange,
  meetForms,
  type Schema,
  type SchemaObject,
  TYPES,
  wordsOf,
} from './forms.ts';
import { isObject } from '#base';
import { elementSchemas, fits, memberSchemas } from './form-members.ts';
import { KeywordForms } from './keyword-forms.ts';
import { type Languages, TooCostlyError } from './language.ts';
import type { SchemaContext } from './schema-context.ts';

const MAX_FORMS = 4000;
/** Steps of meeting two forms, which makes objects. */
const MEET_STEPS = 5;
const MAX_CALLS = 40_000;
/** Levels of members that are compared to tell whether branches overlap. */
const COMPARED_LEVELS = 3;
/** Steps of a branch whose members are read for a tag. */
const BRANCH_STEPS = 10;

const KEYWORDS_OF: Record<string, readonly string[]> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  object: (
    'properties patternProperties additionalProperties required propertyNames minProperties maxProperties ' +
    'dependentRequired'
  ).split(' '),
};
const TYPED = ['type', 'enum', 'const', 'anyOf', 'oneOf'];

/** Reads schemas, and the keywords that combine schemas of one value. */
export class SchemaForms implements FormReader {
  readonly languages: Languages;
  readonly #context: SchemaContext;
  readonly #keywords: KeywordForms;
  readonly #ids = new Map<Schema, number>();
  readonly #known = new Map<string, Form[]>();
  readonly #open = new Set<string>();
  /** Whether a schema without a type allows every type, not only the types that its keywords are about. */
  #isWide = false;
  #calls = 0;

  constructor(languages: Languages, context: SchemaContext) {
    this.languages = languages;
    this.#context = context;
    this.#keywords = new KeywordForms(this, context);
  }

  /** Names a list of schemas that all apply. */
  keyOf(schemas: readonly Schema[]): string {
    const ids = schemas.map((schema) => {
      const id = this.#ids.get(schema) ?? this.#ids.size;
      this.#ids.set(schema, id);
      return id;
    });
    return [...new Set(ids)].toSorted((a, b) => a - b).join();
  }

  #formsKey(schemas: readonly Schema[]): string {
    return `${this.#isWide} ${this.keyOf(schemas)}`;
  }

  readonly formsOf = (schemas: readonly Schema[]): Form[] => {
    const key = this.#formsKey(schemas);
    const known = this.#known.get(key);
    if (known) return known;
    if (this.#open.has(key)) return [];
    if (++this.#calls > MAX_CALLS) throw new TooCostlyError();
    this.#open.add(key);
    const forms = this.#read(schemas);
    this.#open.delete(key);
    this.#known.set(key, forms);
    return forms;
  };

  #read(schemas: readonly Schema[]): Form[] {
    const queue = new Set<Schema>(schemas);
    const mentioned = new Set<string>();
    let typed = false;
    let forms = formsOfTypes(TYPES);
    for (const original of queue) {
      if (original === true) continue;
      if (original === false) return [];
      const schema = this.#context.loosened(original);
      const has = (keyword: string): boolean => schema[keyword] !== undefined;
      typed ||= TYPED.some(has);
      for (const kind of mentionedKinds(schema)) mentioned.add(kind);
      forms = this.meet(forms, this.#keywords.read(schema));
      for (const part of this.#included(schema, original)) queue.add(part);
      forms = this.#combined(schema, original, forms);
    }
    if (typed || mentioned.size === 0 || this.#isWide) return forms;
    return forms.filter(({ kind }) => mentioned.has(kind));
  }

  /** Schemas that a schema includes: its `allOf`, and the target of its `$ref`. */
  #included({ allOf, $ref: reference }: SchemaObject, original: SchemaObject): Schema[] {
    const parts = (allOf ?? []) as Schema[];
    if (typeof reference !== 'string') return parts;
    const target = this.#context.target(reference);
    if (target !== undefined) return [...parts, target];
    this.#context.unenforceable(original, '$ref', 'points nowhere');
    return parts;
  }

  /** Keywords that combine schemas. */
  #combined(schema: SchemaObject, original: SchemaObject, forms: Form[]): Form[] {
    let combined = forms;
    const { anyOf, oneOf, not } = schema;
    const ofBranches = (branches: Schema[]) =>
      this.meet(
        combined,
        branches.flatMap((branch) => this.formsOf([branch])),
      );
    if (Array.isArray(anyOf)) combined = ofBranches(anyOf as Schema[]);
    if (Array.isArray(oneOf)) {
      const branches = oneOf as Schema[];
      const [outside, any] = [combined, ofBranches(branches)];
      const apart = () => this.#apart(original, branches, outside, any);
      combined = this.#context.attempt(original, 'oneOf', apart) ?? any;
    }
    const decided = allowsAll(not ?? false);
    if (decided !== null) return decided ? [] : combined;
    this.#context.unenforceable(original, 'not', 'cannot be enforced');
    return combined;
  }

  /**
   * The forms of `oneOf`, with the member that tells its branches apart. If a value may fit two branches, the keyword
   * is not enforced: `anyOf` remains.
   * @param outside what the rest of the schema allows
   */
  #apart(schema: SchemaObject, branches: readonly Schema[], outside: Form[], forms: Form[]): Form[] {
    const ofBranches = branches.map((branch) => this.formsOf([branch]));
    const wide = branches.map((branch) => this.#wide(branch));
    const tag = this.#tagOf(ofBranches, wide);
    if (tag !== undefined) return this.meet(forms, [{ ...anyObject, required: [tag] }]);
    const isPossible = (form: Form) => this.#isPossible(form, COMPARED_LEVELS);
    const overlaps = ofBranches.some((branch, index) => {
      const own = this.meet(outside, branch);
      return wide.some((other, at) => at !== index && this.meet(own, other).some(isPossible));
    });
    if (overlaps)
      this.#context.unenforceable(schema, 'oneOf', 'allows values of two of its schemas (write `anyOf`)');
    return forms;
  }

  /**
   * The member whose listed values tell the objects of a union apart, such as `kind`; undefined: none.
   * @param wide forms of all values that fit each branch
   */
  #tagOf(branches: readonly Form[][], wide: readonly Form[][]): string | undefined {
    const [first] = branches.flat();
    if (first?.kind !== 'object' || branches.flat().some(({ kind }) => kind !== 'object')) return undefined;
    const names = first.layers.flatMap(({ properties }) => [...properties.keys()]);
    return names.find((name) => {
      this.languages.spend(wide.length * BRANCH_STEPS);
      const values = wide.map((forms) =>
        forms.flatMap((form) =>
          form.kind === 'object' ? this.formsOf(memberSchemas(this.languages, form, name)) : [],
        ),
      );
      if (values.flat().some(({ kind }) => kind !== 'literal')) return false;
      const texts = values.flatMap((own) => [...new Set(own.map((form) => canonical(form)))]);
      return new Set(texts).size === texts.length;
    });
  }

  /** Forms of all values that fit, of any type. */
  #wide(schema: Schema): Form[] {
    const before = this.#isWide;
    this.#isWide = true;
    try {
      return this.formsOf([schema]);
    } finally {
      this.#isWide = before;
    }
  }

  /** Whether a value may have this form. */
  #isPossible(form: Form, levels: number): boolean {
    if (form.kind === 'literal') return true;
    if (form.kind === 'number') return !isEmptyRange(form);
    if (form.min > form.max) return false;
    if (form.kind === 'string')
      return !form.language || !this.languages.isNever(wordsOf(this.languages, form));
    if (levels === 0) return true;
    const needed =
      form.kind === 'array'
        ? [elementSchemas(form, 0)].slice(0, form.min)
        : form.required.map((name) => memberSchemas(this.languages, form, name));
    return needed.every((schemas) => {
      const isOpen = this.#open.has(this.#formsKey(schemas));
      return isOpen || this.formsOf(schemas).some((inner) => this.#isPossible(inner, levels - 1));
    });
  }

  readonly meet = (left: Form[], right: Form[]): Form[] => {
    this.languages.spend(left.length * right.length * MEET_STEPS);
    const met = left.flatMap((a) => right.flatMap((b) => this.#meetOne(a, b)));
    if (met.length > MAX_FORMS) throw new TooCostlyError();
    return met;
  };

  #meetOne(a: Form, b: Form): Form | [] {
    if (a.kind === 'literal') return fits(this, b, a.value) ? a : [];
    if (b.kind === 'literal') return fits(this, a, b.value) ? b : [];
    this.languages.spend(partsOf(a) + partsOf(b));
    return meetForms(a, b, this.languages.and) ?? [];
  }
}

/** Parts of a form that are copied when it meets another. */
const partsOf = (form: Form): number =>
  ('layers' in form ? form.layers.length : 0) + ('required' in form ? form.required.length : 0);

const ANNOTATIONS = new Set('title description $comment default examples deprecated'.split(' '));

/** Whether a schema is `true` or `false` in another form, such as `{ "not": {} }`; null: it is neither. */
function allowsAll(schema: unknown): boolean | null {
  if (!isObject(schema)) return schema === true;
  const { not, ...others } = schema;
  if (Object.keys(others).some((key) => !ANNOTATIONS.has(key))) return null;
  const inner = allowsAll(not ?? false);
  return inner === null ? null : !inner;
}

/** Kinds of the values that a schema's keywords are about. */
const mentionedKinds = (schema: SchemaObject): string[] =>
  Object.keys(KEYWORDS_OF).filter((kind) =>
    KEYWORDS_OF[kind]?.some((keyword) => schema[keyword] !== undefined),
  );
