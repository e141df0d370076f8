/** Types of service workers; their library would declare `fetch` a second time. */
interface ExtendableEvent extends Event {}
interface FetchEvent extends Event {}
interface ExtendableMessageEvent extends Event {}
