import { writeJson, literal } from '#base';
import { accepts, elementSchemas, memberSchemas, otherMembers } from './form-members.ts';
import {
  anyString,
  type ArrayForm,
  type Form,
  type NumberForm,
  type ObjectForm,
  type Schema,
  type StringForm,
  wordsOf,
} from './forms.ts';
import { ANY_INTEGER, ANY_NUMBER, CHARACTER, Grammar, type Rule, WS } from './grammar.ts';
import { distinct } from './keyword-forms.ts';
import { type Language, type Languages, TooCostlyError } from './language.ts';
import { numberLanguage } from './numbers.ts';
import type { SchemaContext } from './schema-context.ts';
import type { SchemaForms } from './schema-forms.ts';

type Alternatives = Rule['alternatives'];

/** Member between the brackets of an object or an array. */
interface Member {
  /** The schemas' value, after its name if it has one. */
  rule: Rule;
  required: boolean;
}

/** Writes the forms of values as rules. */
export class JsonGrammar {
  readonly #grammar = new Grammar();
  readonly #forms: SchemaForms;
  readonly #context: SchemaContext;
  readonly #languages: Languages;
  readonly #values = new Map<string, Rule>();
  readonly #schemas = new Map<Rule, readonly Schema[]>();
  readonly #words = new Map<string, Rule>();

  constructor(forms: SchemaForms, context: SchemaContext) {
    this.#forms = forms;
    this.#context = context;
    this.#languages = forms.languages;
  }

  /** GBNF of the values of a schema; null: it has none. @throws TooCostlyError */
  print(schema: Schema): string | null {
    return this.#grammar.print(this.#value([schema]));
  }

  /** The schemas without values, each within the one before: of the whole, or of a strict tool, which is never called. */
  impossible(schema: Schema): Schema[] {
    const strict = [...this.#schemas].filter(([, [first]]) => this.#context.isStrictPart(first));
    const rules = [this.#value([schema]), ...strict.map(([rule]) => rule)];
    return this.#grammar.impossible(rules).flatMap((rule) => this.#schemas.get(rule) ?? []);
  }

  #value(schemas: readonly Schema[]): Rule {
    const key = this.#forms.keyOf(schemas);
    const known = this.#values.get(key);
    if (known) return known;
    const rule = this.#grammar.rule();
    this.#values.set(key, rule);
    this.#schemas.set(rule, schemas);
    rule.alternatives = this.#alternatives(this.#forms.formsOf(schemas));
    return rule;
  }

  #alternatives(forms: readonly Form[]): Alternatives {
    const texts = forms.flatMap((form) => (form.kind === 'literal' ? [writeJson(form.value)] : []));
    const possible = forms.filter((form) => !('min' in form && form.min > form.max));
    const rest = possible.flatMap((form): Alternatives => {
      if (form.kind === 'string') return [['"\\""', this.#string(form)]];
      return form.kind === 'number' ? [this.#number(form)] : [];
    });
    const arrays = possible.flatMap((form) => (form.kind === 'array' ? this.#array(form) : []));
    const objects = possible.flatMap((form) => (form.kind === 'object' ? [[this.#object(form)]] : []));
    // Their first brackets and spaces are shared, which llama.cpp then follows once.
    if (arrays.length > 0) rest.push([literal('['), WS, this.#grammar.rule(arrays)]);
    if (objects.length > 0) rest.push([literal('{'), WS, this.#grammar.rule(objects)]);
    const [only] = texts;
    if (texts.length === 0) return rest;
    if (texts.length === 1 && only !== undefined) return [[literal(only)], ...rest];
    const { or, text } = this.#languages;
    return [[this.#automaton(or(...texts.map(text)), 'text')], ...rest];
  }

  /** Rule for a string after its opening quote. */
  #string(form: StringForm): Rule {
    const { min, max, language } = form;
    if (language) return this.#automaton(wordsOf(this.#languages, form), 'string');
    return this.#once(`length ${min} ${max}`, () => [[this.#grammar.repeated(CHARACTER, min, max), '"\\""']]);
  }

  #automaton(language: Language, kind: 'string' | 'text'): Rule {
    const isString = kind === 'string';
    return this.#once(`${kind} ${language.id}`, () => [
      [this.#grammar.ofAutomaton(this.#languages.automaton(language, isString), isString)],
    ]);
  }

  /** The rule of this name, whose alternatives may contain itself. */
  #once(key: string, alternatives: () => Alternatives): Rule {
    const known = this.#words.get(key);
    if (known) return known;
    const rule = this.#grammar.rule();
    this.#words.set(key, rule);
    rule.alternatives = alternatives();
    return rule;
  }

  #number(form: NumberForm): Alternatives[number] {
    const { integer, low, high, multiples } = form;
    const isFree = !low && !high && multiples.length === 0;
    if (isFree) return [integer ? ANY_INTEGER : ANY_NUMBER];
    return [this.#automaton(numberLanguage(this.#languages, form), 'text')];
  }

  /** Texts of arrays after the first bracket. */
  #array(form: ArrayForm): Alternatives {
    const { layers, min, max } = form;
    const prefix = Math.max(0, ...layers.map((layer) => layer.prefix.length));
    const hasRest = prefix < Math.max(1, min) || layers.some(({ items }) => items !== undefined);
    const restSchemas = elementSchemas(form, prefix);
    if (form.unique && max > 1) {
      const unique = this.#uniqueArray(form, prefix, restSchemas);
      if (unique) return unique;
      const rule = 'can be enforced for elements of an `enum` alone';
      this.#context.unenforceable(form.unique, 'uniqueItems', rule);
    }
    const length = Math.min(prefix, max);
    this.#languages.spend(length * layers.length);
    const members = Array.from({ length }, (_, index) => elementSchemas(form, index));
    const rest = hasRest ? this.#value(restSchemas) : this.#grammar.rule();
    const bounds = [Math.max(0, min - members.length), max - members.length] as const;
    const fixed = members.map((schemas) => this.#value(schemas));
    const [first, ...others] = fixed;
    if (first) {
      const following = others.flatMap((rule) => [literal(','), WS, rule]);
      return [[first, ...following, this.#following(rest, ...bounds), WS, literal(']')]];
    }
    const alternatives: Alternatives = min === 0 ? [[literal(']')]] : [];
    if (max > 0) {
      const following = this.#following(rest, Math.max(0, min - 1), max - 1);
      alternatives.push([rest, following, WS, literal(']')]);
    }
    return alternatives;
  }

  /** Further elements, each after a comma. */
  #following(element: Rule, min: number, max: number): Alternatives[number][number] {
    const rule = this.#once(`following ${element.id}`, () => [[literal(','), WS, element]]);
    return this.#grammar.repeatedRule(rule, min, Math.max(0, max));
  }

  /** Unique elements: the values of a list, in its order; null: the elements are not a list of values. */
  #uniqueArray(form: ArrayForm, prefix: number, schemas: readonly Schema[]): Alternatives | null {
    const forms = this.#forms.formsOf(schemas);
    const values = forms.flatMap((each) => (each.kind === 'literal' ? [each.value] : []));
    if (prefix > 0 || values.length < forms.length) return null;
    const members = distinct(values).map((value) => ({
      rule: this.#grammar.rule([[literal(writeJson(value))]]),
      required: false,
    }));
    return [[this.#members(members, [], form, literal(']'))]];
  }

  /** Texts of objects after the first bracket. */
  #object(form: ObjectForm): Rule {
    const named = [
      ...new Set([...form.layers.flatMap(({ properties }) => [...properties.keys()]), ...form.required]),
    ];
    const members = named.flatMap((name): Member[] => {
      const required = form.required.includes(name);
      if (form.names.length > 0 && !accepts(this.#forms, form.names, name))
        return required ? [{ rule: this.#grammar.rule(), required }] : [];
      const value = this.#value(memberSchemas(this.#languages, form, name));
      const key = `${literal(`${JSON.stringify(name)}:`)} " "?`;
      return [{ rule: this.#once(`${key} ${value.id}`, () => [[key, value]]), required }];
    });
    const others = otherMembers(this.#forms, form, named).map(({ names, schemas }) => {
      const key = names ? this.#automaton(names, 'string') : this.#string(anyString);
      return this.#grammar.rule([['"\\""', key, literal(':'), '" "?', this.#value(schemas)]]);
    });
    const most = named.length + Math.min(1, others.length);
    const { min, max, minFrom } = form;
    if (min > most && minFrom)
      this.#context.unenforceable(minFrom, 'minProperties', `cannot be enforced above ${most} here`);
    const counts = { min: min > most ? 0 : min, max };
    return this.#members(members, others, counts, literal('}'));
  }

  /**
   * Members in their order, then others, then the bracket. They are counted if the schema bounds their
   * number. A comma and its space come before the choice of a member: llama.cpp follows them once, not for
   * each member.
   */
  #members(
    members: readonly Member[],
    others: readonly Rule[],
    { min, max }: { min: number; max: number },
    bracket: string,
  ): Rule {
    const last = members.findLastIndex((member) => member.required);
    const required = members.filter((member) => member.required).length;
    const counts = min > required || max < members.length || (max !== Infinity && others.length > 0);
    let chained = 0;
    for (const member of members) {
      chained = member.required ? 0 : chained + 1;
      if (chained > MAX_CHAINED) throw new TooCostlyError();
    }
    const start = this.#grammar.rule();
    const once = (place: string, alternatives: () => Alternatives): Rule =>
      this.#once(`members ${start.id} ${place}`, alternatives);
    const ends = (index: number, count: number): boolean =>
      index > last && (index > members.length || !counts || count >= min);
    /** The bracket, or a comma and a member from `index` on. */
    const after = (index: number, count: number): Rule =>
      once(`after ${index} ${count}`, () => [
        ...(ends(index, count) ? [[WS, bracket]] : []),
        [literal(','), WS, ...choice(index, count)],
      ]);
    const choice = (index: number, count: number): Alternatives[number] => {
      const next = counts ? count + 1 : 0;
      const member = members[index];
      const taken = member && next <= max ? [[member.rule, after(index + 1, next)]] : [];
      if (member?.required && taken[0]) return taken[0];
      return [
        once(`${index} ${count}`, () => {
          if (!member) return withOthers(index, next);
          return member.required ? [] : [...taken, choice(index + 1, count)];
        }),
      ];
    };
    // Other names may repeat: only the first of them surely adds a member.
    const withOthers = (index: number, next: number): Alternatives => {
      if (next > Math.min(max, MAX_COUNTED) || (index === members.length && counts && next < min)) return [];
      const rest = after(members.length + 1, max === Infinity ? 0 : next);
      return others.map((other) => [other, rest]);
    };
    start.alternatives = [...(ends(0, 0) ? [[bracket]] : []), choice(0, 0)];
    return start;
  }
}

/** Maximum optional members in a row: llama.cpp refuses a grammar of 256 rules that begin with one another. */
const MAX_CHAINED = 250;

/** Maximum members, if their number is bounded, after which no unnamed member follows. */
const MAX_COUNTED = 512;
