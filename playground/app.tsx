import { useEffect } from 'preact/hooks';
import { Announcer } from './components/announcer.tsx';
import { ErrorBoundary } from './components/error-boundary.tsx';
import { ErrorText } from './components/error-text.tsx';
import { Sidebar } from './shell/sidebar.tsx';
import { TabBar } from './shell/tab-bar.tsx';
import { UpdateNotice } from './shell/update-notice.tsx';
import { currentView } from './views.tsx';
import { startError } from './client/localtext.ts';
import { EngineState } from './shell/engine-state.tsx';
import { ThemeButton } from './shell/theme-button.tsx';
import { Wordmark } from './shell/wordmark.tsx';

export function App() {
  const view = currentView.value;
  useEffect(() => {
    document.title = `${view.title} · localtext`;
  }, [view]);

  return (
    <>
      <a class="skip-link" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      {/* Above the shell, which is as high as the window: below it, it would make the page scroll. */}
      <Announcer />
      <div class="shell">
        <TopBar />
        <Sidebar />
        {/* A new element for each view: it begins at its top. */}
        <main id="main" key={view.name} tabIndex={-1} class={`main main-${view.name}`}>
          <StartProblem />
          <UpdateNotice />
          <ErrorBoundary>
            <view.component />
          </ErrorBoundary>
        </main>
        <TabBar />
      </div>
    </>
  );
}

// The hash is the router's: the link moves the focus itself.
function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function StartProblem() {
  if (startError.value === null) return null;
  return (
    <div class="notice notice-error" role="alert">
      <strong>localtext could not start here.</strong>
      <ErrorText small={false} text={startError.value} />
    </div>
  );
}

/** Head of a narrow screen. */
function TopBar() {
  return (
    <header class="top-bar">
      <Wordmark />
      <EngineState />
      <ThemeButton />
    </header>
  );
}
