/** An event handler attribute, such as `oncontextoverflow`. */
export class EventHandler {
  #value: ((this: EventTarget, event: Event) => unknown) | null = null;

  constructor(target: EventTarget, type: string) {
    target.addEventListener(type, (event) => Reflect.apply(this.#value ?? ignore, target, [event]));
  }

  get value(): unknown {
    return this.#value;
  }

  set value(handler: unknown) {
    this.#value = typeof handler === 'function' ? (handler as () => unknown) : null;
  }
}

const ignore = (): void => {};
