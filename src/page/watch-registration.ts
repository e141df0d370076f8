/** Subset of Workbox's events that is used here. */
export interface LifecycleEvents {
  addEventListener(type: 'waiting' | 'controlling', listener: () => void): void;
}

/**
 * Workbox's events for a registration that the site has made. Workbox itself would register the script again, and cannot
 * tell whether it is a module.
 */
export function watchRegistration(
  registration: ServiceWorkerRegistration,
  onWaiting: () => void,
): LifecycleEvents {
  const events = new EventTarget();
  const dispatch = (type: 'waiting' | 'controlling') => events.dispatchEvent(new Event(type));
  const watch = (): void => {
    const worker = registration.installing;
    worker?.addEventListener('statechange', () => {
      // The first version activates immediately; only later ones wait.
      if (worker.state === 'installed' && registration.active) dispatch('waiting');
    });
  };
  events.addEventListener('waiting', onWaiting);
  registration.addEventListener('updatefound', watch);
  navigator.serviceWorker.addEventListener('controllerchange', () => dispatch('controlling'));
  watch();
  if (registration.waiting && registration.active) dispatch('waiting');
  return events;
}
