import { ANY, contains, normalized, ofProperty, type Ranges, symbolClasses } from './code-points.ts';

/** Error for a grammar that would be larger than the engine can take. */
export class TooCostlyError extends Error {}

/** Words of a language begin and end with these, so that anchors of patterns are ordinary symbols. */
const BEGIN = 0x110000;
const END = 0x110001;

const MAX_EXPRESSIONS = 60_000;
/**
 * Maximum steps of one compilation, such as derivatives and comparisons. They take about a second at most.
 */
const MAX_STEPS = 2_000_000;
/** Steps of a part of an alternative or a conjunction, which is sorted and named. */
const JOIN_STEPS = 10;
/** Steps of a Unicode property, which is looked up in each code point. */
const PROPERTY_STEPS = 100_000;
const MAX_STATES = 2500;

const DIGITS_AND_POINT = [0x2e, ...Array.from({ length: 10 }, (_, digit) => 0x30 + digit)];

type Kind =
  | { kind: 'never' | 'empty' }
  | { kind: 'set'; ranges: Ranges }
  | { kind: 'then'; first: Language; rest: Language }
  | { kind: 'or' | 'and'; parts: readonly Language[] }
  | { kind: 'not'; of: Language }
  | { kind: 'repeat'; of: Language; min: number; max: number }
  | { kind: 'multiple'; divisor: number; remainder: number };

/** A regular language as an expression. Equal expressions of one `Languages` are one object. */
export type Language = Kind & { id: number; nullable: boolean };

/** A deterministic automaton. State 0 is the first. */
export interface AutomatonState {
  accepts: boolean;
  next: { ranges: Ranges; to: number }[];
}

/**
 * Builds regular languages that are closed under intersection and complement, by Brzozowski's derivatives.
 */
export class Languages {
  readonly #expressions = new Map<string, Language>();
  readonly #derivatives = new Map<string, Language>();
  readonly #classes = new Map<string, Ranges[]>();
  readonly #properties = new Set<string>();
  #steps = 0;

  /** Counts work before it is done. @throws TooCostlyError */
  readonly spend = (steps: number): void => {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new TooCostlyError();
  };

  #make(key: string, expression: Kind, nullable: boolean): Language {
    const known = this.#expressions.get(key);
    if (known) return known;
    const id = this.#expressions.size;
    if (id > MAX_EXPRESSIONS) throw new TooCostlyError();
    const language = { ...expression, id, nullable };
    this.#expressions.set(key, language);
    return language;
  }

  readonly set = (ranges: Ranges): Language => {
    if (ranges.length === 0) return this.never;
    this.spend(ranges.length);
    const sorted = normalized(ranges);
    return this.#make(`s${sorted.join()}`, { kind: 'set', ranges: sorted }, false);
  };

  readonly text = (text: string): Language => {
    const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
    return this.sequence(...points.map((point) => this.set([point, point])));
  };

  readonly sequence = (...parts: Language[]): Language =>
    parts.reduceRight((rest, first) => this.#then(first, rest), this.empty);

  #then(first: Language, rest: Language): Language {
    if (first === this.never || rest === this.never) return this.never;
    if (first === this.empty) return rest;
    if (rest === this.empty) return first;
    if (first.kind === 'then') return this.#then(first.first, this.#then(first.rest, rest));
    const isNullable = first.nullable && rest.nullable;
    return this.#make(`t${first.id},${rest.id}`, { kind: 'then', first, rest }, isNullable);
  }

  readonly or = (...parts: Language[]): Language => this.#join('or', parts, this.never, this.all);

  readonly and = (...parts: Language[]): Language => this.#join('and', parts, this.all, this.never);

  /**
   * @param neutral changes nothing
   * @param decisive decides alone
   */
  #join(kind: 'or' | 'and', parts: Language[], neutral: Language, decisive: Language): Language {
    const flat = new Set(parts.flatMap((part) => (part.kind === kind ? part.parts : [part])));
    this.spend(flat.size * JOIN_STEPS);
    flat.delete(neutral);
    if (flat.has(decisive)) return decisive;
    if (kind === 'or') this.#joinSets(flat);
    const sorted = [...flat].toSorted((a, b) => a.id - b.id);
    if (sorted.length < 2) return sorted[0] ?? neutral;
    const nullable =
      kind === 'or' ? sorted.some((part) => part.nullable) : sorted.every((part) => part.nullable);
    return this.#make(`${kind}${sorted.map(({ id }) => id).join()}`, { kind, parts: sorted }, nullable);
  }

  #joinSets(parts: Set<Language>): void {
    const sets = [...parts].filter((part) => part.kind === 'set');
    if (sets.length < 2) return;
    for (const set of sets) parts.delete(set);
    parts.add(this.set(sets.flatMap(({ ranges }) => ranges)));
  }

  readonly not = (language: Language): Language => {
    if (language.kind === 'not') return language.of;
    if (language === this.never) return this.all;
    if (language === this.all) return this.never;
    return this.#make(`n${language.id}`, { kind: 'not', of: language }, !language.nullable);
  };

  readonly repeat = (part: Language, min: number, max: number): Language => {
    if (max === 0 || part === this.empty) return this.empty;
    if (min === 1 && max === 1) return part;
    if (part === this.never) return min === 0 ? this.empty : this.never;
    const isNullable = min === 0 || part.nullable;
    return this.#make(`r${part.id},${min},${max}`, { kind: 'repeat', of: part, min, max }, isNullable);
  };

  /** Digits that form a multiple of the divisor; points between them are ignored. */
  readonly multiple = (divisor: number, remainder = 0): Language => {
    return this.#make(`m${divisor},${remainder}`, { kind: 'multiple', divisor, remainder }, remainder === 0);
  };

  /** Code points of a Unicode property. @throws SyntaxError for an unknown one */
  readonly property = (name: string): Ranges => {
    if (!this.#properties.has(name)) this.spend(PROPERTY_STEPS);
    this.#properties.add(name);
    const ranges = ofProperty(name);
    this.spend(ranges.length);
    return ranges;
  };

  /** A whole word between its marks. */
  readonly word = (text: Language): Language => this.sequence(this.begin, text, this.end);

  readonly never = this.#make('never', { kind: 'never' }, false);
  readonly empty = this.#make('empty', { kind: 'empty' }, true);
  /** Any one character. */
  readonly character = this.set(ANY);
  readonly begin = this.set([BEGIN, BEGIN]);
  readonly end = this.set([END, END]);
  readonly #digits = DIGITS_AND_POINT.map((point) => this.set([point, point]));
  /** Every sequence of symbols, the marks included. */
  readonly all = this.repeat(this.set([...ANY, BEGIN, END]), 0, Infinity);

  /** Derivative of a language: what may follow `point` in the words that begin with it. */
  #derive(from: Language, point: number): Language {
    if (from.kind === 'set') return contains(from.ranges, point) ? this.empty : this.never;
    if (from.kind === 'then' && from.first.kind === 'set')
      return contains(from.first.ranges, point) ? from.rest : this.never;
    const key = `${from.id},${point}`;
    const known = this.#derivatives.get(key);
    if (known) return known;
    this.spend('parts' in from ? from.parts.length : 1);
    const derived = this.#derivative(from, point);
    this.#derivatives.set(key, derived);
    return derived;
  }

  #derivative(from: Language, point: number): Language {
    switch (from.kind) {
      case 'then': {
        const through = this.#then(this.#derive(from.first, point), from.rest);
        return from.first.nullable ? this.or(through, this.#derive(from.rest, point)) : through;
      }
      case 'or':
        return this.or(...from.parts.map((part) => this.#derive(part, point)));
      case 'and':
        return this.and(...from.parts.map((part) => this.#derive(part, point)));
      case 'not':
        return this.not(this.#derive(from.of, point));
      case 'repeat': {
        const rest = this.repeat(from.of, Math.max(0, from.min - 1), from.max - 1);
        return this.#then(this.#derive(from.of, point), rest);
      }
      case 'multiple': {
        if (point === 0x2e) return from;
        const digit = point - 0x30;
        if (digit < 0 || digit > 9) return this.never;
        return this.multiple(from.divisor, (from.remainder * 10 + digit) % from.divisor);
      }
      default:
        return this.never;
    }
  }

  /**
   * @param isWord whether the language has marked words
   * @throws TooCostlyError
   */
  automaton(root: Language, isWord = true): AutomatonState[] {
    const start = isWord ? this.#derive(root, BEGIN) : root;
    const indices = new Map([[start, 0]]);
    const queue = [start];
    const states: AutomatonState[] = [];
    for (const language of queue) {
      const accepts = (isWord ? this.#derive(language, END) : language).nullable;
      const targets = new Map<number, Ranges[]>();
      for (const ranges of this.#symbolClasses(language)) {
        const target = this.#derive(language, ranges[0] ?? 0);
        if (target === this.never) continue;
        const to = indices.get(target) ?? queue.push(target) - 1;
        indices.set(target, to);
        const known = targets.get(to);
        if (known) known.push(ranges);
        else targets.set(to, [ranges]);
      }
      if (queue.length > MAX_STATES) throw new TooCostlyError();
      const next = [...targets].map(([to, classes]) => ({ ranges: this.#joined(classes), to }));
      states.push({ accepts, next });
    }
    return live(states);
  }

  /** A single class stays the same object for all states: that of a property has a thousand ranges. */
  #joined(classes: readonly Ranges[]): Ranges {
    if (classes.length === 1) return classes[0] ?? [];
    const ranges = classes.flat();
    this.spend(ranges.length);
    return normalized(ranges);
  }

  /** Sets of symbols that have one derivative. */
  #symbolClasses(language: Language): Ranges[] {
    const sets = this.#firstSets(language);
    const key = sets.map(({ id }) => id).join();
    const known = this.#classes.get(key);
    if (known) return known;
    const classes = symbolClasses(
      sets.map(({ ranges }) => ranges),
      this.spend,
    ).map(normalized);
    this.#classes.set(key, classes);
    return classes;
  }

  /** Sets with which the first symbol of a word is compared. */
  #firstSets(root: Language): (Language & { kind: 'set' })[] {
    const sets = new Set<Language & { kind: 'set' }>();
    const seen = new Set([root]);
    for (const each of seen) {
      if (each.kind === 'set') sets.add(each);
      else if (each.kind === 'multiple') for (const set of this.#digits) seen.add(set);
      else if (each.kind === 'then') {
        seen.add(each.first);
        if (each.first.nullable) seen.add(each.rest);
      } else if ('parts' in each) for (const part of each.parts) seen.add(part);
      else if ('of' in each) seen.add(each.of);
    }
    this.spend(seen.size);
    return [...sets].toSorted((a, b) => a.id - b.id);
  }

  /** Whether a language of marked words has this text. */
  readonly accepts = (language: Language, text: string): boolean => {
    const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
    return [BEGIN, ...points, END].reduce((rest, point) => this.#derive(rest, point), language).nullable;
  };

  isNever(language: Language): boolean {
    const [first] = this.automaton(language);
    return !first || (!first.accepts && first.next.length === 0);
  }
}

/** Removes transitions into states from which no word can be completed. */
function live(states: readonly AutomatonState[]): AutomatonState[] {
  const sources = states.map((): number[] => []);
  for (const [from, { next }] of states.entries()) for (const { to } of next) sources[to]?.push(from);
  const alive = new Set(states.flatMap(({ accepts }, index) => (accepts ? [index] : [])));
  for (const state of alive) for (const source of sources[state] ?? []) alive.add(source);
  return states.map(({ accepts, next }) => ({ accepts, next: next.filter(({ to }) => alive.has(to)) }));
}
