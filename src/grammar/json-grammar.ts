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
    const rest = forms.flatMap((form): Alternatives => {
      if ('min' in form && form.min > form.max) return [];
      if (form.kind === 'string') return [['"\\""', this.#string(form)]];
      if (form.kind === 'number') return [this.#number(form)];
      if (form.kind === 'array') return this.#array(form);
      return form.kind === 'object' ? this.#object(form) : [];
    });
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
    const make = () => this.#grammar.ofAutomaton(this.#languages.automaton(language, isString), isString);
    return this.#named(`${kind} ${language.id}`, make);
  }

  #once(key: string, alternatives: () => Alternatives): Rule {
    return this.#named(key, () => this.#grammar.rule(alternatives()));
  }

  #named(key: string, make: () => Rule): Rule {
    const rule = this.#words.get(key) ?? make();
    this.#words.set(key, rule);
    return rule;
  }

  #number(form: NumberForm): Alternatives[number] {
    const { integer, low, high, multiples } = form;
    const isFree = !low && !high && multiples.length === 0;
    if (isFree) return [integer ? ANY_INTEGER : ANY_NUMBER];
    return [this.#automaton(numberLanguage(this.#languages, form), 'text')];
  }

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
      return [[literal('['), WS, first, ...following, this.#following(rest, ...bounds), WS, literal(']')]];
    }
    const alternatives: Alternatives = min === 0 ? [[literal('['), WS, literal(']')]] : [];
    if (max === 0) return alternatives;
    const following = this.#following(rest, Math.max(0, min - 1), max - 1);
    return [[literal('['), WS, rest, following, WS, literal(']')], ...alternatives];
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
    return [[literal('['), WS, this.#members(members, [], form, literal(']'))]];
  }

  #object(form: ObjectForm): Alternatives {
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
    return [[literal('{'), WS, this.#members(members, others, counts, literal('}'))]];
  }

  /**
   * Members in their order, then others, then the bracket. They are counted if the schema bounds their
   * number.
   */
  #members(
    members: readonly Member[],
    others: readonly Rule[],
    { min, max }: { min: number; max: number },
    bracket: string,
  ): Rule {
    const required = members.filter((member) => member.required).length;
    const counts = min > required || max < members.length || (max !== Infinity && others.length > 0);
    let chained = 0;
    for (const member of members) {
      chained = member.required ? 0 : chained + 1;
      if (chained > MAX_CHAINED) throw new TooCostlyError();
    }
    const rules = new Map<string, Rule>();
    const after = (index: number, isFirst: boolean, count: number): Rule => {
      const key = `${index} ${isFirst} ${count}`;
      const known = rules.get(key);
      if (known) return known;
      const rule = this.#grammar.rule();
      rules.set(key, rule);
      const member = members[index];
      rule.alternatives = member
        ? withMember(member, index, isFirst, count)
        : withOthers(index > members.length, isFirst, count);
      return rule;
    };
    const comma = (isFirst: boolean) => (isFirst ? [] : [literal(','), WS]);
    const next = (count: number): number => (counts ? count + 1 : 0);
    const withMember = (member: Member, index: number, isFirst: boolean, count: number): Alternatives => {
      const alternatives: Alternatives = [];
      if (next(count) <= max)
        alternatives.push([...comma(isFirst), member.rule, after(index + 1, false, next(count))]);
      if (!member.required) alternatives.push([after(index + 1, isFirst, count)]);
      return alternatives;
    };
    // Other names may repeat: only the first of them surely adds a member.
    const withOthers = (hasOthers: boolean, isFirst: boolean, count: number): Alternatives => {
      const isEnough = hasOthers || !counts || count >= min;
      const end: Alternatives = isEnough ? [[...(isFirst ? [] : [WS]), bracket]] : [];
      if (next(count) > Math.min(max, MAX_COUNTED) || !(isEnough || next(count) >= min)) return end;
      const rest = after(members.length + 1, false, max === Infinity ? 0 : next(count));
      return [...end, ...others.map((other) => [...comma(isFirst), other, rest])];
    };
    return after(0, true, 0);
  }
}

/** Maximum optional members in a row: llama.cpp refuses a grammar of 256 rules that begin with one another. */
const MAX_CHAINED = 250;

/** Maximum members, if their number is bounded, after which no unnamed member follows. */
const MAX_COUNTED = 512;
