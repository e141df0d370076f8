import type { Random } from '../../chaos/random.ts';

type Node =
  | { kind: 'text'; text: string }
  | { kind: 'class'; ranges: [number, number][]; negative: boolean }
  | { kind: 'rule'; name: string }
  | { kind: 'sequence' | 'or'; parts: Node[] }
  | { kind: 'repeat'; of: Node; min: number; max: number };

/** Draws random texts of a grammar as llama.cpp reads it. */
export class GbnfSampler {
  readonly #rules = new Map<string, Node>();
  readonly #depths = new Map<Node, number>();

  constructor(gbnf: string) {
    for (const line of gbnf.split('\n').filter(Boolean)) {
      const [name = '', body = ''] = line.split(/ ::= (.*)/s);
      if (body.trim() === '') throw new Error(`the rule ${name} is empty`);
      this.#rules.set(name, new Parser(body).parse());
    }
    this.#measure();
  }

  /** Null: the text would be longer than `budget` steps. */
  draw(random: Random, budget = 3000): string | null {
    let text = '';
    let steps = 0;
    const open: Node[] = [{ kind: 'rule', name: 'root' }];
    for (let node = open.pop(); node; node = open.pop()) {
      if (++steps > budget * 20) return null;
      const tight = steps > budget;
      switch (node.kind) {
        case 'text':
          text += node.text;
          break;
        case 'class':
          text += drawCharacter(node, random);
          break;
        case 'rule':
          open.push(this.#rule(node.name));
          break;
        case 'sequence':
          open.push(...node.parts.toReversed());
          break;
        case 'or': {
          const parts = node.parts.filter((part) => this.#depth(part) < Infinity);
          const least = Math.min(...parts.map((part) => this.#depth(part)));
          const near = tight ? parts.filter((part) => this.#depth(part) === least) : parts;
          open.push(random.pick(near));
          break;
        }
        case 'repeat': {
          const { min, of } = node;
          const most = this.#depth(of) === Infinity || tight ? min : Math.min(node.max, min + 12);
          const count = min + random.below(most - min + 1);
          for (let i = 0; i < count; i++) open.push(of);
        }
      }
    }
    return text;
  }

  get rules(): number {
    return this.#rules.size;
  }

  #rule(name: string): Node {
    const node = this.#rules.get(name);
    if (!node) throw new Error(`no rule ${name}`);
    return node;
  }

  /** How deep the flattest text of each node is. */
  #measure(): void {
    for (let changed = true; changed;) {
      changed = false;
      for (const node of this.#rules.values()) changed = this.#update(node) || changed;
    }
  }

  #depth(node: Node): number {
    return this.#depths.get(node) ?? Infinity;
  }

  #update(node: Node): boolean {
    let changed = false;
    if ('parts' in node) for (const part of node.parts) changed = this.#update(part) || changed;
    if (node.kind === 'repeat') changed = this.#update(node.of) || changed;
    const depth = this.#computed(node);
    if (depth >= this.#depth(node)) return changed;
    this.#depths.set(node, depth);
    return true;
  }

  #computed(node: Node): number {
    switch (node.kind) {
      case 'rule':
        return 1 + this.#depth(this.#rule(node.name));
      case 'or':
        return Math.min(...node.parts.map((part) => this.#depth(part)));
      case 'sequence':
        return Math.max(0, ...node.parts.map((part) => this.#depth(part)));
      case 'repeat':
        return node.min === 0 ? 0 : this.#depth(node.of);
      default:
        return 0;
    }
  }
}

function drawCharacter({ ranges, negative }: Extract<Node, { kind: 'class' }>, random: Random): string {
  if (!negative) {
    const [first, last] = random.pick(ranges);
    return String.fromCodePoint(first + random.below(last - first + 1));
  }
  for (;;) {
    const point = random.below(8) === 0 ? 0x80 + random.below(0x2000) : random.below(0x80);
    if (!ranges.some(([first, last]) => point >= first && point <= last)) return String.fromCodePoint(point);
  }
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t' };

class Parser {
  readonly #body: string;
  #at = 0;

  constructor(body: string) {
    this.#body = body;
  }

  parse(): Node {
    const node = this.#or();
    if (this.#at < this.#body.length) throw new Error(`unexpected ${this.#body.slice(this.#at)}`);
    return node;
  }

  #peek(): string {
    while (this.#body[this.#at] === ' ') this.#at++;
    return this.#body[this.#at] ?? '';
  }

  #or(): Node {
    const parts = [this.#sequence()];
    while (this.#peek() === '|') {
      this.#at++;
      parts.push(this.#sequence());
    }
    return { kind: 'or', parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#peek() !== '' && !'|)'.includes(this.#peek())) parts.push(this.#repeated(this.#primary()));
    return { kind: 'sequence', parts };
  }

  #repeated(of: Node): Node {
    const found = /^(?:\?|\{(\d+),(\d*)\})/.exec(this.#body.slice(this.#at));
    if (!found) return of;
    this.#at += found[0].length;
    if (found[0] === '?') return { kind: 'repeat', of, min: 0, max: 1 };
    return { kind: 'repeat', of, min: Number(found[1]), max: found[2] ? Number(found[2]) : Infinity };
  }

  #primary(): Node {
    const rest = this.#body.slice(this.#at);
    if (rest.startsWith('(')) {
      this.#at++;
      const inner = this.#or();
      this.#peek();
      this.#at++;
      return inner;
    }
    if (rest.startsWith('"') || rest.startsWith('[')) return this.#terminal(rest.startsWith('"') ? '"' : ']');
    const name = /^[\w-]+/.exec(rest)?.[0] ?? '';
    if (!name) throw new Error(`unexpected ${rest}`);
    this.#at += name.length;
    return { kind: 'rule', name };
  }

  #terminal(end: string): Node {
    this.#at++;
    const negative = end === ']' && this.#body[this.#at] === '^';
    if (negative) this.#at++;
    const points: (number | 'to')[] = [];
    while (this.#body[this.#at] !== end) {
      if (end === ']' && this.#body[this.#at] === '-') {
        points.push('to');
        this.#at++;
      } else points.push(this.#character());
    }
    this.#at++;
    if (end === '"')
      return { kind: 'text', text: points.map((point) => String.fromCodePoint(Number(point))).join('') };
    const ranges: [number, number][] = [];
    for (let i = 0; i < points.length; i++) {
      const [first, to, last] = [Number(points[i]), points[i + 1], Number(points[i + 2])];
      ranges.push([first, to === 'to' ? last : first]);
      if (to === 'to') i += 2;
    }
    return { kind: 'class', ranges, negative };
  }

  #character(): number {
    const rest = this.#body.slice(this.#at, this.#at + 10);
    const hex = /^\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8}))/.exec(rest);
    if (hex) {
      this.#at += hex[0].length;
      return Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? '', 16);
    }
    const escaped = rest.startsWith('\\');
    const point = rest.codePointAt(escaped ? 1 : 0) ?? 0;
    const character = String.fromCodePoint(point);
    this.#at += character.length + (escaped ? 1 : 0);
    return (escaped && ESCAPES[character]?.charCodeAt(0)) || point;
  }
}
