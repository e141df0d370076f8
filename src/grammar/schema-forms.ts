import {
  anyArray,
  anyNumber,
  anyObject,
  anyString,
  canonical,
  type ArrayForm,
  type Form,
  isEmptyRange,
  literals,
  meetForms,
  numberAccepts,
  type NumberForm,
  type ObjectForm,
  type ObjectLayer,
  type Schema,
  type SchemaObject,
  type StringForm,
} from './alternatives.ts';
import { formatPattern } from './formats.ts';
import { MAX_CHARACTERS } from './grammar.ts';
import { type Language, type Languages, TooCostlyError } from './language.ts';
import { MAX_INTEGER, withoutZeros } from './numbers.ts';
import { patternLanguage, UnknownPatternError } from './pattern.ts';

/** A keyword that cannot be enforced, and why. */
class UnenforceableError extends Error {}

export interface SchemaContext {
  /** Undefined: there is no such place. */
  target(reference: string): Schema | undefined;
  /** The schema without the keywords that are not enforced in it. */
  loosened(schema: SchemaObject): SchemaObject;
  /** Called for a keyword that cannot be enforced. Throws where it must be. */
  unenforceable(schema: SchemaObject, keyword: string, rule: string): void;
}

const MAX_FORMS = 4000;
const MAX_CALLS = 40_000;
/** Strings and arrays are held to be shorter than these. */
const MAX_LENGTH = 4096;
const MAX_ITEMS = 1024;
/** Levels of members that are compared to tell whether branches overlap. */
const COMPARED_LEVELS = 3;
const MAX_STATES_WITH_LENGTH = 2400;

const UNKNOWN_KEYWORDS = ['maxContains', '$dynamicRef', '$recursiveRef'];
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
const TYPES = ['null', 'boolean', 'string', 'number', 'array', 'object'];

/** Reads schemas as the forms that their values may have. */
export class SchemaForms {
  readonly #languages: Languages;
  readonly #context: SchemaContext;
  readonly #ids = new Map<Schema, number>();
  readonly #known = new Map<string, Form[]>();
  readonly #open = new Set<string>();
  readonly #negated = new Map<Schema, Schema>();
  /** Whether a schema without a type allows every type, and not only those that its keywords are about. */
  #isWide = false;
  #calls = 0;

  constructor(languages: Languages, context: SchemaContext) {
    this.#languages = languages;
    this.#context = context;
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

  /** The forms of values that fit all of these. A schema that is made of itself alone has none. */
  of(schemas: readonly Schema[]): Form[] {
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
  }

  #read(schemas: readonly Schema[]): Form[] {
    const queue = new Set<Schema>(schemas);
    const mentioned = new Set<string>();
    let typed = false;
    let forms = this.#types(TYPES);
    for (const given of queue) {
      if (given === true) continue;
      if (given === false) return [];
      const schema = this.#context.loosened(given);
      if (
        (given !== schemas[0] || schemas.length > 1) &&
        UNEVALUATED.some((key) => schema[key] !== undefined)
      ) {
        // It does not see what the schemas beside it evaluate.
        forms = this.meet(forms, this.of([given]));
        continue;
      }
      typed ||= TYPED.some((key) => schema[key] !== undefined);
      for (const [kind, keys] of Object.entries(KEYWORDS_OF))
        if (keys.some((key) => schema[key] !== undefined)) mentioned.add(kind);
      forms = this.meet(forms, this.#own(schema));
      for (const part of (schema['allOf'] ?? []) as Schema[]) queue.add(part);
      if (typeof schema['$ref'] === 'string') {
        const target = this.#context.target(schema['$ref']);
        if (target === undefined) this.#context.unenforceable(given, '$ref', 'points nowhere');
        else queue.add(target);
      }
      forms = this.#combined(schema, given, forms);
    }
    const [first] = schemas;
    if (typeof first === 'object' && schemas.length === 1)
      forms = forms.flatMap((form) => withUnevaluated(form, this.#context.loosened(first)) ?? []);
    if (typed || mentioned.size === 0 || this.#isWide) return forms;
    return forms.filter(({ kind }) => mentioned.has(kind));
  }

  /** Reads as `of`, with all values that fit. */
  #wide(schemas: readonly Schema[]): Form[] {
    const before = this.#isWide;
    this.#isWide = true;
    try {
      return this.of(schemas);
    } finally {
      this.#isWide = before;
    }
  }

  #types(types: readonly string[]): Form[] {
    return types.flatMap((type): Form[] => {
      if (type === 'null') return literals(null);
      if (type === 'boolean') return literals(true, false);
      if (type === 'string') return [anyString];
      if (type === 'number') return [anyNumber];
      if (type === 'integer') return [{ ...anyNumber, integer: true }];
      if (type === 'array') return [anyArray];
      return type === 'object' ? [anyObject] : [];
    });
  }

  /** The keywords that are not about other schemas of the same value. */
  #own(schema: SchemaObject): Form[] {
    for (const keyword of UNKNOWN_KEYWORDS)
      if (schema[keyword] !== undefined && schema[keyword] !== false)
        this.#context.unenforceable(schema, keyword, 'cannot be enforced');
    const { type, enum: values } = schema;
    const types = type === undefined ? TYPES : ([type].flat() as string[]);
    const forms = this.#types(
      types.includes('number') ? types.filter((name) => name !== 'integer') : types,
    ).flatMap((form): Form[] => {
      if (form.kind === 'string') return [this.#string(schema)];
      if (form.kind === 'number') return [this.#number(schema, form.integer)];
      if (form.kind === 'array') return [this.#array(schema)];
      if (form.kind === 'object') return this.#object(schema);
      return [form];
    });
    const constant = Object.hasOwn(schema, 'const') ? [schema['const']] : null;
    const allowed = [values, constant].filter((list): list is unknown[] => Array.isArray(list));
    return allowed.reduce<Form[]>((left, list) => this.meet(left, literals(...distinct(list))), forms);
  }

  /** Runs `make`; null where what it reads cannot be enforced and need not be. */
  #attempt<Made>(schema: SchemaObject, keyword: string, make: () => Made): Made | null {
    try {
      return make();
    } catch (error) {
      if (error instanceof TooCostlyError)
        this.#context.unenforceable(schema, keyword, 'is too costly to enforce');
      else if (error instanceof UnknownPatternError || error instanceof UnenforceableError)
        this.#context.unenforceable(schema, keyword, error.message);
      else if (error instanceof SyntaxError) this.#context.unenforceable(schema, keyword, 'cannot be read');
      else throw error;
      return null;
    }
  }

  #string(schema: SchemaObject): StringForm {
    const { pattern } = schema;
    // Values that are listed are right, also where the format is narrower here than its standard.
    const format =
      schema['enum'] === undefined && schema['const'] === undefined ? schema['format'] : undefined;
    const counts = this.#counts(schema, 'minLength', 'maxLength', MAX_LENGTH);
    const known = typeof format === 'string' ? formatPattern(format, typeof pattern === 'string') : '';
    const ofFormat = known ? patternLanguage(this.#languages, known) : null;
    if (typeof pattern !== 'string') {
      if (known === undefined) this.#context.unenforceable(schema, 'format', 'is not known');
      return this.#bounded(schema, counts, ofFormat, 'format');
    }
    const read = () => {
      const language = patternLanguage(this.#languages, pattern);
      const both = ofFormat ? this.#languages.and(language, ofFormat) : language;
      // Some libraries write formats that their own patterns contradict.
      return this.#languages.isNever(both) ? language : both;
    };
    if (!ofFormat) return this.#bounded(schema, counts, this.#attempt(schema, 'pattern', read), 'pattern');
    try {
      return this.#bounded(schema, counts, read(), 'pattern');
    } catch (error) {
      const isUnread = error instanceof UnknownPatternError || error instanceof SyntaxError;
      if (!isUnread && !(error instanceof TooCostlyError)) throw error;
      return this.#bounded(schema, counts, ofFormat, 'format');
    }
  }

  /** A long string of a pattern is held shorter than it may be: its automaton counts each character. */
  #bounded(
    schema: SchemaObject,
    { min, max }: { min: number; max: number },
    language: Language | null,
    keyword: string,
  ): StringForm {
    if (!language || (min === 0 && max === Infinity)) return { kind: 'string', min, max, language };
    const states = this.#languages.automaton(language).length;
    const most = Math.max(min, Math.floor(MAX_STATES_WITH_LENGTH / states));
    const form: StringForm = {
      kind: 'string',
      min,
      max: Math.min(max, max === Infinity ? max : most),
      language,
    };
    const isBounded = this.#attempt(schema, keyword, () => this.#languages.automaton(this.word(form)));
    return isBounded ? form : { kind: 'string', min, max, language: null };
  }

  /** The marked words of a form, its lengths included. */
  word({ min, max, language }: StringForm): Language {
    const all = language ?? this.#languages.all;
    if (min === 0 && max === Infinity) return all;
    const { and, character, repeat, word } = this.#languages;
    return and(all, word(repeat(character, min, max)));
  }

  #counts(schema: SchemaObject, low: string, high: string, most: number): { min: number; max: number } {
    const min = (schema[low] as number | undefined) ?? 0;
    const max = (schema[high] as number | undefined) ?? Infinity;
    if (min > most) {
      this.#context.unenforceable(schema, low, `is too costly to enforce above ${most}`);
      return { min: 0, max };
    }
    return { min, max: max > most && max !== Infinity ? most : max };
  }

  #number(schema: SchemaObject, integer: boolean): Form {
    const form = { ...anyNumber, integer };
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    for (const [keyword, sign] of LIMITS)
      if (Number(schema[keyword]) * sign >= MAX_INTEGER) {
        const rule = `cannot be enforced ${sign > 0 ? 'from' : 'to'} ${sign * MAX_INTEGER} on`;
        this.#context.unenforceable(schema, keyword, rule);
        return form;
      }
    const bound = (value: unknown, open: boolean) =>
      typeof value === 'number' ? { value, open } : undefined;
    const parts: Form[] = [{ ...form, ...integerFormat(schema['format']) }];
    for (const [low, high] of [
      [bound(minimum, exclusiveMinimum === true), bound(maximum, exclusiveMaximum === true)],
      [bound(exclusiveMinimum, true), bound(exclusiveMaximum, true)],
    ])
      parts.push({ ...form, ...(low && { low }), ...(high && { high }) });
    if (typeof multipleOf === 'number') {
      if (multipleOf > 0 && withoutZeros(multipleOf) <= 1e4) parts.push({ ...form, multiples: [multipleOf] });
      else this.#context.unenforceable(schema, 'multipleOf', 'is too costly to enforce above 10,000');
    }
    return parts.reduce((left, part) => this.meet([left], [part])[0] ?? left, form as Form);
  }

  #array(schema: SchemaObject): ArrayForm {
    const { items, prefixItems, additionalItems, uniqueItems, contains, minContains } = schema;
    // Before draft 2020-12 the elements of a tuple were `items`, and the others `additionalItems`.
    const [prefix, others] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
    const layer = {
      prefix: (Array.isArray(prefix) ? prefix : []) as Schema[],
      ...(others !== undefined && { items: others as Schema }),
    };
    const atLeast =
      minContains === undefined ? 1 : this.#counts(schema, 'minContains', 'maxContains', MAX_ITEMS).min;
    return {
      kind: 'array',
      layers: [layer],
      ...this.#counts(schema, 'minItems', 'maxItems', MAX_ITEMS),
      unique: uniqueItems === true ? schema : null,
      contains: contains === undefined || atLeast === 0 ? [] : [{ schema: contains as Schema, min: atLeast }],
    };
  }

  #object(schema: SchemaObject): Form[] {
    const properties = new Map(Object.entries((schema['properties'] ?? {}) as Record<string, Schema>));
    const patterns = Object.entries((schema['patternProperties'] ?? {}) as Record<string, Schema>).flatMap(
      ([pattern, member]) => {
        const language = this.#attempt(schema, 'patternProperties', () =>
          patternLanguage(this.#languages, pattern),
        );
        return language ? [[language, member] as const] : [];
      },
    );
    const additional = schema['additionalProperties'] as Schema | undefined;
    const names = schema['propertyNames'] as Schema | undefined;
    const form: ObjectForm = {
      ...anyObject,
      layers: [{ properties, patterns, ...(additional !== undefined && { additional }) }],
      required: bounded((schema['required'] ?? []) as string[]),
      min: (schema['minProperties'] as number | undefined) ?? 0,
      max: (schema['maxProperties'] as number | undefined) ?? Infinity,
      minFrom: schema,
      names: names === undefined ? [] : [names],
    };
    const dependencies = ['dependentRequired', 'dependentSchemas', 'dependencies'].flatMap((key) =>
      Object.entries((schema[key] ?? {}) as Record<string, Schema | string[]>),
    );
    return dependencies.reduce<Form[]>(
      (forms, [name, rule]) => {
        const present = Array.isArray(rule)
          ? [{ ...anyObject, required: bounded([name, ...rule]) }]
          : this.of([rule]);
        return this.meet(forms, [without(name), ...present]);
      },
      [form],
    );
  }

  /** Keywords that combine schemas. */
  #combined(schema: SchemaObject, given: SchemaObject, forms: Form[]): Form[] {
    let left = forms;
    const { anyOf, oneOf, not, if: condition } = schema;
    if (Array.isArray(anyOf))
      left = this.meet(
        left,
        anyOf.flatMap((branch: Schema) => this.of([branch])),
      );
    if (Array.isArray(oneOf)) {
      const one = this.#attempt(given, 'oneOf', () => this.#oneOf(oneOf as Schema[], left));
      left = this.meet(left, one ?? oneOf.flatMap((branch: Schema) => this.of([branch])));
    }
    if (not !== undefined) {
      const others = this.#attempt(given, 'not', () => this.#not(not as Schema));
      if (others) left = this.meet(left, others);
    }
    if (condition !== undefined) {
      const cases = this.#attempt(given, 'if', () => [
        ...this.of([condition as Schema, (schema['then'] ?? true) as Schema]),
        ...this.meet(this.#not(condition as Schema), this.of([(schema['else'] ?? true) as Schema])),
      ]);
      if (cases) left = this.meet(left, cases);
    }
    return left;
  }

  /** Each branch without those that it overlaps. `forms`: what the schema allows beside. */
  #oneOf(branches: readonly Schema[], forms: Form[]): Form[] {
    const wide = branches.map((branch) => this.#wide([branch]));
    return branches.flatMap((branch, index) => {
      const own = this.meet(forms, this.of([branch]));
      const overlapping = branches.filter(
        (_, at) =>
          at !== index &&
          this.meet(own, wide[at] ?? []).some((form) => this.#isPossible(form, COMPARED_LEVELS)),
      );
      return overlapping.reduce((left, other) => this.meet(left, this.#not(other)), own);
    });
  }

  /** False: no value has this form. */
  #isPossible(form: Form, levels: number): boolean {
    if (form.kind === 'literal') return true;
    if (form.kind === 'number') return !isEmptyRange(form);
    if (form.min > form.max) return false;
    if (form.kind === 'string') return !form.language || !this.#languages.isNever(this.word(form));
    if (form.kind === 'array' || levels === 0) return true;
    return form.required.every((name) =>
      this.of(this.member(form, name)).some((inner) => this.#isPossible(inner, levels - 1)),
    );
  }

  /** The forms of values that do not fit. @throws UnenforceableError */
  #not(schema: Schema): Form[] {
    if (typeof schema === 'boolean') return schema ? [] : this.#types(TYPES);
    return Object.entries(schema).flatMap(([keyword, value]) => this.#notOne(keyword, value));
  }

  #negation(schema: Schema): Schema {
    if (typeof schema === 'boolean') return !schema;
    const known = this.#negated.get(schema) ?? { not: schema };
    this.#negated.set(schema, known);
    return known;
  }

  #notOne(keyword: string, value: unknown): Form[] {
    switch (keyword) {
      case 'type': {
        const types = new Set([value].flat());
        return this.#types(
          TYPES.filter((type) => !types.has(type) && !(type === 'number' && types.has('integer'))),
        );
      }
      case 'const':
        return this.#except([value]);
      case 'enum':
        return this.#except(value as unknown[]);
      case 'pattern':
        return [
          { ...anyString, language: this.#languages.not(patternLanguage(this.#languages, String(value))) },
        ];
      case 'minLength':
        return value === 0 ? [] : [{ ...anyString, max: Number(value) - 1 }];
      case 'maxLength':
        return [{ ...anyString, min: Number(value) + 1 }];
      case 'minimum':
        return [{ ...anyNumber, high: { value: Number(value), open: true } }];
      case 'maximum':
        return [{ ...anyNumber, low: { value: Number(value), open: true } }];
      case 'exclusiveMinimum':
        return [{ ...anyNumber, high: { value: Number(value), open: false } }];
      case 'exclusiveMaximum':
        return [{ ...anyNumber, low: { value: Number(value), open: false } }];
      case 'minItems':
        return value === 0 ? [] : [{ ...anyArray, max: Number(value) - 1 }];
      case 'maxItems':
        return [{ ...anyArray, min: Number(value) + 1 }];
      case 'items':
        if (Array.isArray(value)) break;
        return [{ ...anyArray, contains: [{ schema: this.#negation(value as Schema), min: 1 }] }];
      case 'required':
        return (value as string[]).map(without);
      case 'properties':
        return Object.entries(value as Record<string, Schema>).map(([name, member]): Form => {
          const properties = new Map([[name, this.#negation(member)]]);
          return { ...anyObject, required: [name], layers: [{ properties, patterns: [], isNegation: true }] };
        });
      case 'anyOf':
        return (value as Schema[]).reduce<Form[]>(
          (forms, branch) => this.meet(forms, this.#not(branch)),
          this.#types(TYPES),
        );
      case 'allOf':
        return (value as Schema[]).flatMap((part) => this.#not(part));
      case 'not':
        return this.of([value as Schema]);
      case '$ref': {
        const target = this.#context.target(String(value));
        if (target !== undefined) return this.#not(target);
        break;
      }
      case 'title':
      case 'description':
      case 'default':
      case 'examples':
      case '$defs':
      case 'definitions':
        return [];
    }
    throw new UnenforceableError(`cannot be enforced together with \`${keyword}\``);
  }

  /** Every value but these; of those that are arrays or objects, none. */
  #except(values: readonly unknown[]): Form[] {
    const texts = values.filter((value) => typeof value === 'string');
    const words = texts.map((text) => this.#languages.word(this.#languages.text(text)));
    const except = values.filter((value) => typeof value === 'number');
    const kept = [null, true, false].filter((value) => !values.includes(value));
    const language = words.length === 0 ? null : this.#languages.not(this.#languages.or(...words));
    const nested = values.filter((value) => typeof value === 'object' && value !== null);
    return [
      ...literals(...kept),
      { ...anyString, language },
      { ...anyNumber, except },
      ...(nested.some(Array.isArray) ? [] : [anyArray]),
      ...(nested.some((value) => !Array.isArray(value)) ? [] : [anyObject]),
    ];
  }

  meet(left: Form[], right: Form[]): Form[] {
    this.#languages.spend(left.length * right.length);
    const met = left.flatMap((a) => right.flatMap((b) => this.#meetOne(a, b)));
    if (met.length > MAX_FORMS) throw new TooCostlyError();
    return met;
  }

  #meetOne(a: Form, b: Form): Form[] {
    if (a.kind === 'literal') return this.#fits(b, a.value) ? [a] : [];
    if (b.kind === 'literal') return this.#fits(a, b.value) ? [b] : [];
    const met = meetForms(a, b, (x, y) => this.#languages.and(x, y));
    return met ? [met] : [];
  }

  accepts(schemas: readonly Schema[], value: unknown): boolean {
    return this.of(schemas).some((form) => this.#fits(form, value));
  }

  #fits(form: Form, value: unknown): boolean {
    switch (form.kind) {
      case 'literal':
        return (
          form.value === value || (typeof value === 'object' && canonical(form.value) === canonical(value))
        );
      case 'string':
        return typeof value === 'string' && this.#fitsString(form, value);
      case 'number':
        return typeof value === 'number' && numberAccepts(form, value);
      case 'array':
        return Array.isArray(value) && this.#fitsArray(form, value);
      case 'object':
        return (
          typeof value === 'object' &&
          value !== null &&
          !Array.isArray(value) &&
          this.#fitsObject(form, value)
        );
    }
  }

  #fitsString({ min, max, language }: StringForm, value: string): boolean {
    const length = Array.from(value).length;
    return length >= min && length <= max && (!language || this.#languages.accepts(language, value));
  }

  #fitsArray(form: ArrayForm, value: readonly unknown[]): boolean {
    if (value.length < form.min || value.length > form.max) return false;
    if (form.unique && distinct(value).length < value.length) return false;
    if (!value.every((inner, index) => this.accepts(this.item(form, index), inner))) return false;
    return form.contains.every(
      ({ schema, min }) => value.filter((inner) => this.accepts([schema], inner)).length >= min,
    );
  }

  #fitsObject(form: ObjectForm, value: object): boolean {
    const members = Object.entries(value);
    if (members.length < form.min || members.length > form.max) return false;
    if (!form.required.every((name) => Object.hasOwn(value, name))) return false;
    return members.every(
      ([name, inner]) => this.accepts(form.names, name) && this.accepts(this.member(form, name), inner),
    );
  }

  /** The schemas of an element. */
  item({ layers }: ArrayForm, index: number): Schema[] {
    return layers.flatMap(({ prefix, items }): Schema[] => {
      const schema = prefix[index] ?? items;
      return schema === undefined ? [] : [schema];
    });
  }

  /** The schemas of a member. */
  member({ layers }: ObjectForm, name: string): Schema[] {
    return layers.flatMap(({ properties, patterns, additional }) => {
      const own = properties.get(name);
      const matching = patterns.flatMap(([language, schema]) =>
        this.#languages.accepts(language, name) ? [schema] : [],
      );
      const named = own === undefined ? matching : [own, ...matching];
      return named.length > 0 || additional === undefined ? named : [additional];
    });
  }

  /** Members that are not named: the names of each kind (null: any), and the schemas of its values. */
  others(form: ObjectForm, named: readonly string[]): { names: Language | null; schemas: Schema[] }[] {
    const { and, or, not, word, text } = this.#languages;
    const { layers } = form;
    const patterns = [...new Set(layers.flatMap((layer) => layer.patterns.map(([language]) => language)))];
    const taken = named.map((name) => not(word(text(name))));
    const allowed = form.names.length > 0 ? [this.#words(form.names)] : [];
    const matching = patterns.map((pattern) => ({
      names: and(
        pattern,
        ...patterns.flatMap((other) => (other === pattern ? [] : not(other))),
        ...taken,
        ...allowed,
      ),
      schemas: layers.flatMap((layer) => {
        const own = layer.patterns.flatMap(([language, schema]) => (language === pattern ? [schema] : []));
        return own.length > 0 || layer.additional === undefined ? own : [layer.additional];
      }),
    }));
    const isOpen =
      layers.some(({ additional }) => additional !== undefined && additional !== false) ||
      layers.every(
        ({ properties, patterns: own }) =>
          own.length === 0 && [...properties.values()].every((each) => each === false),
      );
    if (!isOpen) return matching;
    const rest = [not(or(...patterns)), ...taken, ...allowed];
    const free = patterns.length === 0 && taken.length === 0 && allowed.length === 0;
    const schemas = layers.flatMap(({ additional }) => (additional === undefined ? [] : [additional]));
    return [...matching, { names: free ? null : and(...rest), schemas }];
  }

  /** The strings among the values of schemas. */
  #words(schemas: readonly Schema[]): Language {
    const { or, word, text } = this.#languages;
    return or(
      ...this.of([...schemas, IS_STRING]).map((form) =>
        form.kind === 'string' ? this.word(form) : word(text(String(form.kind === 'literal' && form.value))),
      ),
    );
  }
}

/** Bounds past which a number has more digits than grammars allow. */
const LIMITS = [
  ['minimum', 1],
  ['exclusiveMinimum', 1],
  ['maximum', -1],
  ['exclusiveMaximum', -1],
] as const;

/** Integers of a number of bits: `int32`, `uint8`. */
function integerFormat(format: unknown): Pick<NumberForm, 'low' | 'high'> & { integer?: true } {
  const [name, unsigned, bits = 64] = /^(u?)int(8|16|32|64)?$/.exec(String(format)) ?? [];
  if (name === undefined) return {};
  const values = 2 ** Number(bits);
  const low = unsigned ? 0 : -values / 2;
  return { integer: true, low: { value: low, open: false }, high: { value: low + values, open: true } };
}

/** Adds the schemas of what no other keyword evaluates to a form of the whole schema that has them. Null: it is not known. */
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

const IS_STRING: Schema = { type: 'string' };

/** Objects that lack a member. */
const without = (name: string): Form => ({
  ...anyObject,
  layers: [{ properties: new Map([[name, false]]), patterns: [] }],
});

const distinct = (values: readonly unknown[]): unknown[] => {
  const texts = bounded(values.map(canonical));
  return [...new Map(texts.map((text, index) => [text, values[index]])).values()];
};

/**
 * Bounds texts before a set of them is made: V8 tells longer ones of one length only by comparing them.
 * @throws TooCostlyError where no grammar could have them all
 */
function bounded(texts: string[]): string[] {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_CHARACTERS) throw new TooCostlyError();
  return texts;
}
