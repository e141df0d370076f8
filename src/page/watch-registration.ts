/**
 * Calls `onWaiting` for each version that waits to take over, also of a registration that the site has made: Workbox would
 * register its script again, and cannot tell whether it is a module.
 */
export function watchRegistration(registration: ServiceWorkerRegistration, onWaiting: () => void): void {
  const watch = (): void => {
    const worker = registration.installing;
    worker?.addEventListener('statechange', () => {
      // The first version activates immediately; only later ones wait.
      if (worker.state === 'installed' && registration.active) onWaiting();
    });
  };
  registration.addEventListener('updatefound', watch);
  watch();
  if (registration.waiting && registration.active) onWaiting();
}
