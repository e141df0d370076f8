import {
  type Form,
  type FormReader,
  formsOfTypes,
  isEmptyRange,
  meetForms,
  type ObjectLayer,
  type Schema,
  type SchemaObject,
  TYPES,
  wordsOf,
} from './forms.ts';
import { fits, memberSchemas } from './form-members.ts';
import { KeywordForms } from './keyword-forms.ts';
import { type Languages, TooCostlyError } from './language.ts';
import { NegatedForms } from './negated-forms.ts';
import { attempt, type SchemaContext } from './schema-context.ts';

const MAX_FORMS = 4000;
const MAX_CALLS = 40_000;
/** Levels of members that are compared to tell whether branches overlap. */
const COMPARED_LEVELS = 3;

const UNEVALUATED = ['unevaluatedItems', 'unevaluatedProperties'];
const KEYWORDS_OF: Record<string, readonly string[]> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'unevaluatedItems'],
  object: [
    ...'properties patternProperties additionalProperties required propertyNames'.split(' '),
    ...'minProperties maxProperties dependentRequired dependentSchemas unevaluatedProperties'.split(' '),
  ],
};
const TYPED = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'not', 'if'];

/** Reads schemas, and the keywords that combine schemas of one value. */
export class SchemaForms implements FormReader {
  readonly languages: Languages;
  readonly #context: SchemaContext;
  readonly #keywords: KeywordForms;
  readonly #negated: NegatedForms;
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
    this.#negated = new NegatedForms(this, context);
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

  readonly formsOf = (schemas: readonly Schema[]): Form[] => {
    const key = `${this.#isWide} ${this.keyOf(schemas)}`;
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
    const [first, ...others] = schemas;
    const queue = new Set<Schema>(schemas);
    const mentioned = new Set<string>();
    let typed = false;
    let forms = formsOfTypes(TYPES);
    for (const original of queue) {
      if (original === true) continue;
      if (original === false) return [];
      const schema = this.#context.loosened(original);
      const has = (keyword: string): boolean => schema[keyword] !== undefined;
      if ((original !== first || others.length > 0) && UNEVALUATED.some(has)) {
        // These keywords do not see what the schemas beside them evaluate.
        forms = this.meet(forms, this.formsOf([original]));
        continue;
      }
      typed ||= TYPED.some(has);
      for (const kind of mentionedKinds(schema)) mentioned.add(kind);
      forms = this.meet(forms, this.#keywords.read(schema));
      for (const part of this.#included(schema, original)) queue.add(part);
      forms = this.#combined(schema, original, forms);
    }
    if (typeof first === 'object' && others.length === 0) {
      const schema = this.#context.loosened(first);
      forms = forms.flatMap((form) => withUnevaluated(form, schema) ?? []);
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
    const { anyOf, oneOf, not, if: condition } = schema;
    const anyBranch = (branches: unknown[]) => branches.flatMap((branch) => this.formsOf([branch as Schema]));
    if (Array.isArray(anyOf)) combined = this.meet(combined, anyBranch(anyOf));
    if (Array.isArray(oneOf)) {
      const one = attempt(this.#context, original, 'oneOf', () => this.#oneOf(oneOf as Schema[], combined));
      combined = this.meet(combined, one ?? anyBranch(oneOf));
    }
    if (not !== undefined) {
      const others = attempt(this.#context, original, 'not', () => this.#negated.read(not as Schema));
      if (others) combined = this.meet(combined, others);
    }
    if (condition !== undefined) {
      const cases = attempt(this.#context, original, 'if', () => [
        ...this.formsOf([condition as Schema, (schema['then'] ?? true) as Schema]),
        ...this.meet(
          this.#negated.read(condition as Schema),
          this.formsOf([(schema['else'] ?? true) as Schema]),
        ),
      ]);
      if (cases) combined = this.meet(combined, cases);
    }
    return combined;
  }

  /**
   * Forms of the branches, each without the branches that it overlaps. `forms`: what the rest of the schema
   * allows.
   */
  #oneOf(branches: readonly Schema[], forms: Form[]): Form[] {
    const wide = branches.map((branch) => this.#wide(branch));
    return branches.flatMap((branch, index) => {
      const own = this.meet(forms, this.formsOf([branch]));
      const overlaps = (at: number): boolean =>
        this.meet(own, wide[at] ?? []).some((form) => this.#isPossible(form, COMPARED_LEVELS));
      const overlapping = branches.filter((_, at) => at !== index && overlaps(at));
      return overlapping.reduce((rest, other) => this.meet(rest, this.#negated.read(other)), own);
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
    if (form.kind === 'array' || levels === 0) return true;
    return form.required.every((name) =>
      this.formsOf(memberSchemas(this.languages, form, name)).some((inner) =>
        this.#isPossible(inner, levels - 1),
      ),
    );
  }

  readonly meet = (left: Form[], right: Form[]): Form[] => {
    this.languages.spend(left.length * right.length);
    const met = left.flatMap((a) => right.flatMap((b) => this.#meetOne(a, b)));
    if (met.length > MAX_FORMS) throw new TooCostlyError();
    return met;
  };

  #meetOne(a: Form, b: Form): Form | [] {
    if (a.kind === 'literal') return fits(this, b, a.value) ? a : [];
    if (b.kind === 'literal') return fits(this, a, b.value) ? b : [];
    return meetForms(a, b, this.languages.and) ?? [];
  }
}

/** Kinds of the values that a schema's keywords are about. */
const mentionedKinds = (schema: SchemaObject): string[] =>
  Object.keys(KEYWORDS_OF).filter((kind) =>
    KEYWORDS_OF[kind]?.some((keyword) => schema[keyword] !== undefined),
  );

/** Adds the schemas of unevaluated members to a form of the whole schema that has them. Null: unknown. */
function withUnevaluated(form: Form, { unevaluatedItems, unevaluatedProperties }: SchemaObject): Form | null {
  if (form.kind === 'literal' && typeof form.value === 'object' && form.value !== null)
    return (unevaluatedItems ?? unevaluatedProperties) === undefined ? form : null;
  if (form.kind === 'array' && unevaluatedItems !== undefined) {
    if (form.layers.some(({ items }) => items !== undefined)) return form;
    const prefix = Array<Schema>(Math.max(0, ...form.layers.map((layer) => layer.prefix.length))).fill(true);
    return { ...form, layers: [...form.layers, { prefix, items: unevaluatedItems as Schema }] };
  }
  if (form.kind !== 'object' || unevaluatedProperties === undefined) return form;
  const layers = form.layers.filter(({ isNegation }) => !isNegation);
  if (layers.some(({ additional }) => additional !== undefined)) return form;
  const names = layers.flatMap(({ properties }) => [...properties.keys()]);
  const rest: ObjectLayer = {
    properties: new Map(names.map((name) => [name, true])),
    patterns: layers.flatMap(({ patterns }) => patterns.map(([language]) => [language, true] as const)),
    additional: unevaluatedProperties as Schema,
  };
  return { ...form, layers: [...form.layers, rest] };
}
